export type { BusEvent, BusSubscription, MessageBus } from "../core/message-bus.ts";
export type {
  Collection,
  DeleteOptions,
  GetOptions,
  ListRecordsOptions,
  PutOptions,
  Quota,
  RecordDraft,
  RecordFailure,
  RecordKey,
  RecordList,
  RecordQuery,
  Store,
  StoredRecord,
  StoreEvent,
  StoreOptions,
} from "../core/store.ts";
