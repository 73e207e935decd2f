import { expect, test } from "vitest";
import { digestOf, planTroubles } from "./plan.ts";
import { describeTrouble } from "./trouble.ts";

const servers = [
  { name: "inner", place: "in-memory" },
  { name: "child", place: "stdio" },
  { name: "web", place: "http" },
  { name: "stateless", place: "stateless-http" },
  { name: "real", place: "service" },
] as const;

test("one seed plans the same troubles, another seed others", () => {
  const plan = planTroubles("seven", servers, 120_000);
  expect(digestOf(planTroubles("seven", servers, 120_000))).toBe(digestOf(plan));
  expect(digestOf(planTroubles("eight", servers, 120_000))).not.toBe(digestOf(plan));
  // Pinned: a machine or a Node that planned something else could not repeat what another found.
  expect(plan.length).toBeGreaterThan(40);
});

test("what is planned for a server does not depend on the others, and a longer soak begins like a shorter one", () => {
  const plan = planTroubles("seven", servers, 120_000).filter(({ server }) => server === "web");
  expect(planTroubles("seven", servers.slice(2, 3), 120_000)).toEqual(plan);
  const longer = planTroubles("seven", servers.slice(2, 3), 240_000);
  expect(longer.slice(0, plan.length)).toEqual(plan);
});

test("a server meets only what can happen where it runs, one after the other", () => {
  for (const { name, place } of servers) {
    const plan = planTroubles("seven", servers, 600_000).filter(({ server }) => server === name);
    expect(plan.filter(({ trouble }) => !describeTrouble(trouble).places.includes(place))).toEqual([]);
    for (const [at, { atMs, forMs }] of plan.slice(0, -1).entries()) {
      expect(plan[at + 1]?.atMs).toBeGreaterThanOrEqual(atMs + forMs + 2_000);
    }
  }
});
