import type { LanguageModelV4 } from "@ai-sdk/provider";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { invalidOption } from "../../core/options.ts";
import { nearest, orDidYouMean } from "../../lib/similar.ts";
import { isRecord } from "../../lib/value.ts";
import {
  assertLanguageModel,
  isLanguageModel,
  knownProviders,
  loadProvider,
  type ModelProvider,
  type ModelServer,
  readModelServer,
  serverProvider,
} from "./providers.ts";

/** The name of a model. */
export interface ModelRef {
  /** Such as `anthropic`. */
  readonly provider: string;
  /** The id that its provider gave it. */
  readonly modelId: string;
}

/** `provider/name`. */
export function modelRefOf({ provider, modelId }: ModelRef): string {
  return `${provider}/${modelId}`;
}

/** Undefined for what is no `provider/name`. The name may contain slashes. */
function parseModelRef(ref: string): ModelRef | undefined {
  const slash = ref.indexOf("/");
  if (slash < 1 || slash === ref.length - 1) return undefined;
  return { provider: ref.slice(0, slash), modelId: ref.slice(slash + 1) };
}

/** The models that prompts may name. */
export interface ModelsOptions {
  /**
   * By the name of a provider, a provider of the AI SDK, or the URL of a server; by `provider/name`, one model. `anthropic`, `google`,
   * `mistral`, `ollama` and `openai` need no entry: each is made when it is first named, with its key from the environment.
   */
  readonly models?: Readonly<Record<string, ModelProvider | ModelServer | LanguageModelV4>> | undefined;
  /** The model of prompts that name none: `provider/name`, or a model. */
  readonly defaultModel?: string | LanguageModelV4 | undefined;
}

/** The model that a prompt names. */
export interface WantedModel {
  readonly provider?: string | undefined;
  /** Its name, or `provider/name`. */
  readonly model?: string | undefined;
}

/** A model and its name. */
export interface ChosenModel extends ModelRef {
  readonly model: LanguageModelV4;
}

/** Limit of the models of providers that are kept. */
const maxAsked = 256;

/** The registered models, and the choice among them. */
export class Models {
  /** By ref. */
  readonly #models = new Map<string, LanguageModelV4>();
  readonly #providers = new Map<string, ModelProvider | ModelServer>();
  /** Providers that are made when they are first named. */
  readonly #made = new Map<string, Promise<ModelProvider | undefined>>();
  readonly #default: ModelRef | undefined;
  /** Where it was not given by name. */
  #defaultModel: LanguageModelV4 | undefined;
  /** Models that providers made, by ref, the last used last: one may weigh 100 KiB, and every run names one. */
  readonly #asked = new Map<string, LanguageModelV4>();

  /** @throws ToolkitError `INVALID_CONFIG` for what is no model or provider, and for a default that is not registered */
  constructor({ models = {}, defaultModel }: ModelsOptions) {
    if (!isRecord(models)) throw invalidOption("models", "an object, by provider or provider/name", models);
    for (const [name, given] of Object.entries(models)) this.#register(name, given);
    this.#default = defaultModel === undefined ? undefined : this.#readDefault(defaultModel);
  }

  /** All registered names, sorted: `provider/name` of a model, `provider/*` of a provider. */
  get known(): readonly string[] {
    return [...this.#models.keys(), ...[...this.#providers.keys()].map((name) => `${name}/*`)].sort();
  }

  /**
   * The model that is wanted, else the default.
   *
   * @throws ToolkitError `NOT_FOUND` for one that is not registered; `INVALID_INPUT` for an ambiguous name, or without one where there
   * is no default; `MISSING_PEER` where the package of a provider is not installed; `UNAUTHORIZED` where its key is not in the
   * environment; `INVALID_CONFIG` where a provider gives a model of another version
   */
  async choose(wanted: WantedModel): Promise<ChosenModel> {
    const ref = this.#find(wanted);
    const given = ref === this.#default ? this.#defaultModel : undefined;
    const model = given ?? this.#models.get(modelRefOf(ref)) ?? (await this.#ask(ref));
    return { model, ...ref };
  }

  #register(name: string, given: unknown): void {
    const path = `models[${JSON.stringify(name)}]`;
    const ref = parseModelRef(name);
    if (ref !== undefined) {
      assertLanguageModel(given, path);
      this.#models.set(name, given);
    } else if (name === "" || name.includes("/")) throw invalidOption("models", "by provider or provider/name", name);
    else if (isLanguageModel(given)) {
      const message = `The option ${path} is one model: its name must be provider/name, such as ${JSON.stringify(`${name}/${given.modelId}`)}.`;
      throw new ToolkitError("INVALID_CONFIG", message, { path });
    } else this.#providers.set(name, readProvider(given, path));
  }

  #readDefault(given: unknown): ModelRef {
    if (typeof given !== "string") {
      assertLanguageModel(given, "defaultModel");
      const ref = { provider: providerOf(given), modelId: given.modelId };
      this.#defaultModel = given;
      // A prompt may name it too, unless another model has that name.
      if (!this.#models.has(modelRefOf(ref))) this.#models.set(modelRefOf(ref), given);
      return ref;
    }
    try {
      return this.#find({ model: given });
    } catch (error) {
      const message = `The option defaultModel cannot be used: ${messageOf(error)}`;
      throw new ToolkitError("INVALID_CONFIG", message, { path: "defaultModel" }, { cause: error });
    }
  }

  #find({ provider, model }: WantedModel): ModelRef {
    if (model !== undefined && provider !== undefined) return this.#named({ provider, modelId: model });
    if (model !== undefined) return this.#byModel(model);
    if (provider !== undefined) return this.#byProvider(provider);
    if (this.#default !== undefined) return this.#default;
    throw ambiguous(
      "No model is named, and there is no default: name one (`model` of the prompt, `--model` of the command), or give the option defaultModel (`models.default` of a configuration).",
    );
  }

  #named(ref: ModelRef): ModelRef {
    if (this.#models.has(modelRefOf(ref)) || this.#isProvider(ref.provider)) return ref;
    throw this.#notFound(modelRefOf(ref));
  }

  #byModel(model: string): ModelRef {
    const ref = parseModelRef(model);
    if (ref !== undefined && (this.#models.has(model) || this.#isProvider(ref.provider))) return ref;
    const models = this.#refs().filter(({ modelId }) => modelId === model);
    // A ref of an unknown provider is not the name of a model of another provider.
    const open = ref === undefined ? this.#providerNames().map((provider) => ({ provider, modelId: model })) : [];
    const [only, ...others] = models.length > 0 ? models : open;
    if (only === undefined) throw this.#notFound(model);
    if (others.length === 0) return only;
    const names = [only, ...others].map(modelRefOf).sort();
    throw ambiguous(`The model ${JSON.stringify(model)} may be one of several: write ${either(names)}.`);
  }

  #byProvider(provider: string): ModelRef {
    if (this.#default?.provider === provider) return this.#default;
    const models = this.#refs().filter((ref) => ref.provider === provider);
    const [only] = models;
    if (only === undefined && !this.#isProvider(provider)) throw this.#notFound(provider);
    if (only !== undefined && models.length === 1 && !this.#providers.has(provider)) return only;
    const such = models.length === 0 ? "" : `, such as ${either(models.map(({ modelId }) => modelId).sort())}`;
    throw ambiguous(`The provider ${provider} has several models: name one${such}.`);
  }

  /** The names of single models. */
  #refs(): ModelRef[] {
    const refs = new Set(this.#models.keys());
    if (this.#default !== undefined) refs.add(modelRefOf(this.#default));
    return [...refs].flatMap((ref) => parseModelRef(ref) ?? []);
  }

  /** The providers that make models of any name, with that of the default model. */
  #providerNames(): string[] {
    const names = new Set(this.#providers.keys());
    if (this.#default !== undefined && !this.#models.has(modelRefOf(this.#default))) names.add(this.#default.provider);
    return [...names];
  }

  #isProvider(name: string): boolean {
    return this.#providers.has(name) || knownProviders.includes(name);
  }

  async #ask(ref: ModelRef): Promise<LanguageModelV4> {
    const key = modelRefOf(ref);
    // Many runs that begin at once wait for one provider, and get one model.
    const provider = this.#asked.has(key) ? undefined : await this.#provider(ref.provider);
    const model = this.#asked.get(key) ?? this.#modelOf(provider, ref);
    this.#asked.delete(key);
    this.#asked.set(key, model);
    // Callers may name models of their own.
    if (this.#asked.size > maxAsked) this.#asked.delete(this.#asked.keys().next().value ?? key);
    return model;
  }

  #modelOf(provider: ModelProvider | undefined, { provider: name, modelId }: ModelRef): LanguageModelV4 {
    let model: unknown;
    try {
      model = provider?.languageModel(modelId);
    } catch (error) {
      throw this.#notFound(`${name}/${modelId}`, error);
    }
    assertLanguageModel(model, `models[${JSON.stringify(name)}]`);
    return model;
  }

  async #provider(name: string): Promise<ModelProvider | undefined> {
    const given = this.#providers.get(name);
    if (given !== undefined && !isServer(given)) return given;
    const made =
      this.#made.get(name) ?? (given === undefined ? loadProvider(name) : Promise.resolve(serverProvider(name, given)));
    this.#made.set(name, made);
    try {
      return await made;
    } catch (error) {
      // A package or key that was missing may be present the next time.
      this.#made.delete(name);
      throw error;
    }
  }

  #notFound(key: string, cause?: unknown): ToolkitError<"NOT_FOUND"> {
    const refs = this.#refs().map(modelRefOf);
    const names = [...this.#providers.keys(), ...knownProviders];
    const [provider = key, modelId] = key.split(/\/(.*)/s);
    const others = nearest(provider, names).filter((name) => name !== provider);
    const near = [...nearest(key, refs), ...others.map((name) => (modelId ? `${name}/${modelId}` : name))];
    const suggestions = [...new Set(near)].slice(0, 3);
    const why = cause === undefined ? "" : ` (${messageOf(cause)})`;
    const all = [...new Set([...this.known, ...knownProviders.map((name) => `${name}/*`)])].sort().join(", ");
    const message = `There is no model ${JSON.stringify(key)}${why}.${orDidYouMean(suggestions)} There are ${all}.`;
    return new ToolkitError("NOT_FOUND", message, { key, suggestions }, { cause });
  }
}

function readProvider(given: unknown, path: string): ModelProvider | ModelServer {
  const isObject = isRecord(given) || typeof given === "function";
  if (isObject && typeof (given as Partial<ModelProvider>).languageModel === "function")
    return given as unknown as ModelProvider;
  if (isRecord(given) && "url" in given) return readModelServer(given, path);
  throw invalidOption(path, "a provider of the AI SDK, a model, or { url } of a server", given);
}

function isServer(given: ModelProvider | ModelServer): given is ModelServer {
  return !("languageModel" in given);
}

/** A model of the AI SDK appends its API to the name of its provider: `anthropic.messages`. */
function providerOf({ provider }: LanguageModelV4): string {
  return provider.split(".", 1)[0] ?? provider;
}

/** Names to choose from, for a message. */
function either(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(" or ");
}

function ambiguous(message: string): ToolkitError<"INVALID_INPUT"> {
  return new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "/model", message }] });
}
