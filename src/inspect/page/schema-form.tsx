import { useId, useState } from "preact/hooks";
import type { JsonSchema } from "../../core/schema/types.ts";
import { exampleOf, type FormField, fieldsOf, isMember } from "./schema-fields.ts";

/** An action of a form. */
export interface FormAction {
  readonly label: string;
  run(input: unknown): void;
}

interface FormProps {
  /** Undefined where there is nothing to fill in. */
  readonly schema: JsonSchema | undefined;
  readonly actions: readonly FormAction[];
  readonly isBusy: boolean;
  onStop(): void;
}

type Input = Readonly<Record<string, unknown>>;

/** A form of a schema, which can be filled in as JSON too. */
export function SchemaForm({ schema, actions, isBusy, onStop }: FormProps) {
  const [input, set] = useState<Input>({});
  const [text, write] = useState<string | undefined>(undefined);
  const [problem, report] = useState("");
  const fields = fieldsOf(schema, schema);
  const run = (action: FormAction | undefined) => {
    const value = text === undefined ? { value: input } : parsed(text);
    report(value === undefined ? "The input is no JSON object." : "");
    if (value !== undefined) action?.run(value.value);
  };
  const fill = () => {
    const example = exampleOf(schema, schema);
    if (text === undefined) set(isMember(example) ? example : {});
    else write(JSON.stringify(example, undefined, 2));
  };
  const hasInput = schema !== undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        run(actions[0]);
      }}
    >
      {hasInput && text === undefined && <Fields fields={fields} value={input} root={schema} onChange={set} />}
      {hasInput && text === undefined && fields.length === 0 && <p class="quiet">It takes no fields that are named.</p>}
      {text !== undefined && <JsonField label="Input as JSON" text={text} onText={write} />}
      {problem !== "" && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <p class="actions">
        {actions.map((action, at) => (
          <button
            key={action.label}
            type={at === 0 ? "submit" : "button"}
            class={at === 0 ? "main" : ""}
            disabled={isBusy}
            onClick={at === 0 ? undefined : () => run(action)}
          >
            {action.label}
          </button>
        ))}
        {isBusy && (
          <button type="button" onClick={onStop}>
            Cancel
          </button>
        )}
        {hasInput && (
          <>
            <button type="button" onClick={fill}>
              Fill in an example
            </button>
            <label class="inline">
              <input
                type="checkbox"
                checked={text !== undefined}
                onChange={() => {
                  if (text === undefined) write(JSON.stringify(input, undefined, 2));
                  else {
                    const value = parsed(text)?.value;
                    set(isMember(value) ? value : {});
                    write(undefined);
                  }
                }}
              />
              As JSON
            </label>
          </>
        )}
      </p>
    </form>
  );
}

function parsed(text: string): { readonly value: Input } | undefined {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    return isMember(value) ? { value } : undefined;
  } catch {
    return undefined;
  }
}

interface FieldsProps {
  readonly fields: readonly FormField[];
  readonly value: Input;
  readonly root: JsonSchema | undefined;
  onChange(value: Input): void;
}

function Fields({ fields, value, root, onChange }: FieldsProps) {
  return (
    <div class="fields">
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          root={root}
          value={value[field.name]}
          onChange={(next) => {
            const { [field.name]: _before, ...others } = value;
            onChange(next === undefined ? others : { ...others, [field.name]: next });
          }}
        />
      ))}
    </div>
  );
}

interface FieldProps {
  readonly field: FormField;
  readonly value: unknown;
  readonly root: JsonSchema | undefined;
  /** Undefined leaves the field out. */
  onChange(value: unknown): void;
}

function Field({ field, value, root, onChange }: FieldProps) {
  const id = useId();
  const { name, form, description, isRequired, members } = field;
  if (form === "group")
    return (
      <fieldset>
        <legend>{name}</legend>
        {description !== undefined && <p class="quiet">{description}</p>}
        <Fields fields={members} value={isMember(value) ? value : {}} root={root} onChange={onChange} />
      </fieldset>
    );
  const help = `${id}-help`;
  return (
    <div class="field">
      <label for={id}>
        {name}
        {isRequired && <span class="required"> (required)</span>}
      </label>
      <Control
        field={field}
        id={id}
        help={description === undefined ? undefined : help}
        value={value}
        onChange={onChange}
      />
      {description !== undefined && (
        <p id={help} class="quiet lines">
          {description}
        </p>
      )}
    </div>
  );
}

interface ControlProps extends Omit<FieldProps, "root"> {
  readonly id: string;
  readonly help: string | undefined;
}

function Control({ field: { form, choices, isRequired, type }, id, help, value, onChange }: ControlProps) {
  const shared = { id, "aria-describedby": help, "aria-required": isRequired };
  const given = typeof value === "string" || typeof value === "number" ? String(value) : "";
  const isLeftOut = (text: string) => text === "" && !isRequired;
  switch (form) {
    case "choice":
      return (
        <select
          {...shared}
          value={String(choices.indexOf(value))}
          onChange={({ currentTarget }) => onChange(choices[Number(currentTarget.value)])}
        >
          <option value="-1">(none)</option>
          {choices.map((choice, at) => (
            <option key={String(choice)} value={String(at)}>
              {String(choice)}
            </option>
          ))}
        </select>
      );
    case "check":
      return (
        <input
          {...shared}
          type="checkbox"
          checked={value === true}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
      );
    case "number":
      return (
        <input
          {...shared}
          type="number"
          step={type === "integer" ? 1 : "any"}
          value={given}
          onInput={({ currentTarget }) =>
            onChange(currentTarget.value === "" ? undefined : currentTarget.valueAsNumber)
          }
        />
      );
    case "line":
      return (
        <input
          {...shared}
          type="text"
          value={given}
          onInput={({ currentTarget: { value: text } }) => onChange(isLeftOut(text) ? undefined : text)}
        />
      );
    case "text":
      return (
        <textarea
          {...shared}
          rows={1}
          value={given}
          onInput={({ currentTarget: { value: text } }) => onChange(isLeftOut(text) ? undefined : text)}
        />
      );
    default:
      return <JsonControl {...shared} value={value} onChange={onChange} />;
  }
}

interface JsonControlProps {
  readonly id: string;
  readonly value: unknown;
  onChange(value: unknown): void;
}

/** A value without a field of its own, as JSON. What is no JSON is sent as a text, which the service refuses with the reason. */
function JsonControl({ value, onChange, ...shared }: JsonControlProps) {
  const [text, write] = useState<string | undefined>(undefined);
  const shown = value === undefined ? "" : (text ?? JSON.stringify(value));
  return (
    <textarea
      {...shared}
      rows={2}
      class="code"
      placeholder="JSON"
      value={shown}
      onInput={({ currentTarget }) => {
        write(currentTarget.value);
        onChange(jsonOrText(currentTarget.value));
      }}
    />
  );
}

function jsonOrText(text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function JsonField({
  label,
  text,
  onText,
}: {
  readonly label: string;
  readonly text: string;
  onText(text: string): void;
}) {
  return (
    <label class="field">
      {label}
      <textarea
        class="code"
        rows={6}
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
    </label>
  );
}
