/** A text that a model goes on with until its reader leaves. */
export function endlessText() {
  const text = { pieces: pieces(), isEnded: false };
  async function* pieces() {
    try {
      for (let piece = 0; ; piece++) {
        await new Promise((resolve) => setImmediate(resolve));
        yield `${piece} `;
      }
    } finally {
      text.isEnded = true;
    }
  }
  return text;
}
