/** What others call the providers we know. */
const providerOf: Readonly<Record<string, string>> = {
  googleai: "google",
  "google-genai": "google",
  "google-ai": "google",
  gemini: "google",
  mistralai: "mistral",
};

/** Cuts `googleai/gemini-2.5-flash` into a provider, under the name it has here, and a model. */
export function modelOf(written: string): { readonly provider: string | undefined; readonly model: string } {
  const slash = written.indexOf("/");
  if (slash <= 0 || slash === written.length - 1) return { provider: undefined, model: written };
  const provider = written.slice(0, slash);
  const known = Object.hasOwn(providerOf, provider.toLowerCase()) ? providerOf[provider.toLowerCase()] : undefined;
  return { provider: known ?? provider, model: written.slice(slash + 1) };
}
