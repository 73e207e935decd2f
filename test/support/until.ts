/** Resolves when the condition holds, which some event makes true; looked at again and again. */
export async function until(condition: () => unknown, timeoutMs = 20_000, what = condition.toString()): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`It did not come true within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
