import type { Meter, Tracer } from "@opentelemetry/api";

/** The options of traces and metrics. */
export interface TelemetryOptions {
  /**
   * Makes the spans. Default: that of the OpenTelemetry SDK that is registered in this process, also later; where there is none, spans
   * cost nothing. False for none.
   */
  readonly tracer?: Tracer | false | undefined;
  /** Makes the instruments of metrics. Default: as for `tracer`. False for none. */
  readonly meter?: Meter | false | undefined;
  /**
   * Record the arguments and results of calls on their spans, and error messages that may quote them: redacted by key, and up to 8,192
   * characters each. Default false.
   */
  readonly recordContent?: boolean | undefined;
  /**
   * Keys whose values are never recorded, by glob (`iban`, `*_pin`), without regard to case, `_` and `-`. Beside those that never are:
   * passwords, secrets, tokens, API and private keys, credentials, authorization, cookies.
   */
  readonly redact?: readonly string[] | undefined;
}
