import { breakdown } from "./breakdown.ts";

breakdown({ kills: 2, restarts: 20 });
