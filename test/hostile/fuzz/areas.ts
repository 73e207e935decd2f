import type { HostileArea } from "./area.ts";
import { messageFuzz } from "./messages.ts";

/** Every area of the hostile fuzz. */
export const areas: readonly HostileArea[] = [messageFuzz];
