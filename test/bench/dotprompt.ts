import { arePeersWanted, installPeer } from "./peer.ts";

const versions = { dotprompt: "1.1.2" };

/** The part of Google's dotprompt that the benches use. */
export interface Dotprompt {
  /** A prompt that can be rendered, from the text of its file. */
  compile(source: string): Promise<(data: { readonly input: unknown }) => Promise<unknown>>;
}

/**
 * dotprompt, made anew each time it is called. It is no dependency: with BENCH_PEERS=1 it is installed, in this version, into
 * `.bench/peers`; else there is none.
 */
export async function loadDotprompt(): Promise<(() => Dotprompt) | undefined> {
  if (!arePeersWanted) return undefined;
  const installed = await installPeer("dotprompt", versions);
  const { Dotprompt: Peer } = installed("dotprompt") as { Dotprompt: new () => Dotprompt };
  return () => new Peer();
}
