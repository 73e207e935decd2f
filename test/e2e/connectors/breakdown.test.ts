import { breakdown } from "./breakdown.ts";

breakdown({ kills: 1, restarts: 4 });
