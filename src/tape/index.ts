export { parseTape, readTape } from "./read-tape.ts";
export { type Recording, type RecordOptions, record, recordRun } from "./recording.ts";
export { replayed } from "./replay.ts";
export type { Replay, ReplayedRun, ReplayOptions } from "./replay-types.ts";
export type { Tape, TapeLine } from "./tape-format.ts";
export type { TapeTarget } from "./tape-writer.ts";
export { type TimelineEntry, timelineOf } from "./timeline.ts";
