import { keptOfRemoved } from "../record-rules.ts";

/** The steps from each version of the schema to the next. Once published, a step is never changed. */
export const schemaSteps: readonly ((inSchema: string) => string)[] = [
  tablesAndFunctions,
  keptOfRemovedRecords,
  messages,
  usageOfOwners,
];

/**
 * A write is one call of a function, so that it is all or nothing and holds its locks for no way over the network. Each takes the lock of
 * its record first, and before that the lock of its owner where a quota counts: no other writer changes what it reads afterwards.
 *
 * A record that was deleted stays, without a value, where its version has to go on counting.
 */
function tablesAndFunctions(inSchema: string): string {
  const columns = `
    collection text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    updated_at bigint NOT NULL,
    value text,
    bytes bytea,
    total_bytes bigint NOT NULL`;
  const one = "collection = in_collection AND owner = in_owner AND key = in_key";
  return `
    CREATE TABLE ${inSchema}.record (${columns}, PRIMARY KEY (collection, owner, key));
    CREATE TABLE ${inSchema}.past (${columns}, PRIMARY KEY (collection, owner, key, version));

    -- The version that is there, 0 for none, once nobody else can change it.
    CREATE FUNCTION ${inSchema}.locked_version(in_schema text, in_collection text, in_owner text, in_key text)
    RETURNS bigint LANGUAGE plpgsql AS $body$
    #variable_conflict use_column
    DECLARE found_version bigint;
    BEGIN
      PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(E'\\x01', in_schema, in_collection, in_owner, in_key), 2));
      SELECT version INTO found_version FROM ${inSchema}.record WHERE ${one} AND value IS NOT NULL FOR UPDATE;
      RETURN coalesce(found_version, 0);
    END $body$;

    -- What is there becomes past, and what is older than so many versions goes; with null nothing is kept.
    CREATE FUNCTION ${inSchema}.keep(in_collection text, in_owner text, in_key text, in_keep integer)
    RETURNS void LANGUAGE plpgsql AS $body$
    #variable_conflict use_column
    BEGIN
      IF in_keep IS NULL THEN RETURN; END IF;
      INSERT INTO ${inSchema}.past SELECT * FROM ${inSchema}.record WHERE ${one} AND value IS NOT NULL AND in_keep > 0;
      DELETE FROM ${inSchema}.past WHERE ${one} AND version <= (
        SELECT version FROM ${inSchema}.past WHERE ${one} ORDER BY version DESC OFFSET in_keep LIMIT 1);
    END $body$;

    -- Where nothing was put, put_version is null, and the rest says why.
    CREATE FUNCTION ${inSchema}.put(
      in_schema text, in_collection text, in_owner text, in_key text, in_value text, in_bytes bytea, in_total bigint,
      in_expected bigint, in_keep integer, in_counted text[], in_max_items bigint, in_max_bytes bigint, in_notice text,
      OUT found_version bigint, OUT used_items bigint, OUT used_bytes bigint, OUT put_version bigint, OUT put_at bigint)
    LANGUAGE plpgsql AS $body$
    #variable_conflict use_column
    BEGIN
      IF in_counted IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(E'\\x01', in_schema, in_owner), 1));
      END IF;
      found_version := ${inSchema}.locked_version(in_schema, in_collection, in_owner, in_key);
      IF in_expected <> found_version THEN RETURN; END IF;
      IF in_counted IS NOT NULL THEN
        SELECT count(*), coalesce(sum(total_bytes), 0) INTO used_items, used_bytes FROM ${inSchema}.record
          WHERE owner = in_owner AND collection = ANY (in_counted) AND value IS NOT NULL
          AND (collection, key) <> (in_collection, in_key);
        IF used_items + 1 > in_max_items OR used_bytes + in_total > in_max_bytes THEN RETURN; END IF;
      END IF;
      PERFORM ${inSchema}.keep(in_collection, in_owner, in_key, in_keep);
      put_at := floor(extract(epoch FROM clock_timestamp()) * 1000);
      INSERT INTO ${inSchema}.record AS r VALUES (in_collection, in_owner, in_key, 1, put_at, in_value, in_bytes, in_total)
        ON CONFLICT (collection, owner, key) DO UPDATE SET
          version = r.version + 1, updated_at = put_at, value = in_value, bytes = in_bytes, total_bytes = in_total
        RETURNING r.version INTO put_version;
      PERFORM pg_notify(in_schema, put_version || ' ' || in_notice);
    END $body$;

    -- Where nothing was deleted, gone_version is null.
    CREATE FUNCTION ${inSchema}.remove(
      in_schema text, in_collection text, in_owner text, in_key text, in_expected bigint, in_keep integer, in_notice text,
      OUT found_version bigint, OUT gone_version bigint)
    LANGUAGE plpgsql AS $body$
    #variable_conflict use_column
    BEGIN
      found_version := ${inSchema}.locked_version(in_schema, in_collection, in_owner, in_key);
      IF found_version = 0 OR in_expected <> found_version THEN RETURN; END IF;
      PERFORM ${inSchema}.keep(in_collection, in_owner, in_key, in_keep);
      gone_version := found_version + 1;
      IF in_keep IS NULL THEN
        DELETE FROM ${inSchema}.record WHERE ${one};
      ELSE
        UPDATE ${inSchema}.record SET version = gone_version, value = NULL, bytes = NULL, total_bytes = 0 WHERE ${one};
      END IF;
      PERFORM pg_notify(in_schema, gone_version || ' ' || in_notice);
    END $body$`;
}

/** Of a removed record `total_bytes` is that of its past versions, which are kept of the last removed records of an owner alone. */
function keptOfRemovedRecords(inSchema: string): string {
  const one = "collection = in_collection AND owner = in_owner AND key = in_key";
  return `
    UPDATE ${inSchema}.record r SET total_bytes = (SELECT coalesce(sum(p.total_bytes), 0) FROM ${inSchema}.past p
      WHERE p.collection = r.collection AND p.owner = r.owner AND p.key = r.key) WHERE value IS NULL;
    CREATE INDEX ON ${inSchema}.record (collection, owner, updated_at) WHERE value IS NULL AND total_bytes > 0;

    -- The caller has the lock of the owner: no other removal forgets the same.
    CREATE FUNCTION ${inSchema}.forget_histories(in_collection text, in_owner text)
    RETURNS void LANGUAGE plpgsql AS $body$
    #variable_conflict use_column
    DECLARE old_key text;
    BEGIN
      FOR old_key IN SELECT key FROM (
        SELECT key, row_number() OVER newest AS nth, sum(total_bytes) OVER newest - total_bytes AS newer
        FROM ${inSchema}.record
        WHERE collection = in_collection AND owner = in_owner AND value IS NULL AND total_bytes > 0
        WINDOW newest AS (ORDER BY updated_at DESC, key)
      ) AS removed WHERE nth > ${keptOfRemoved.records} OR newer >= ${keptOfRemoved.bytes}
      LOOP
        DELETE FROM ${inSchema}.past WHERE collection = in_collection AND owner = in_owner AND key = old_key;
        UPDATE ${inSchema}.record SET total_bytes = 0
          WHERE collection = in_collection AND owner = in_owner AND key = old_key AND value IS NULL;
      END LOOP;
    END $body$;

    CREATE OR REPLACE FUNCTION ${inSchema}.remove(
      in_schema text, in_collection text, in_owner text, in_key text, in_expected bigint, in_keep integer, in_notice text,
      OUT found_version bigint, OUT gone_version bigint)
    LANGUAGE plpgsql AS $body$
    #variable_conflict use_column
    BEGIN
      IF in_keep IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(E'\\x01', in_schema, in_owner), 1));
      END IF;
      found_version := ${inSchema}.locked_version(in_schema, in_collection, in_owner, in_key);
      IF found_version = 0 OR in_expected <> found_version THEN RETURN; END IF;
      PERFORM ${inSchema}.keep(in_collection, in_owner, in_key, in_keep);
      gone_version := found_version + 1;
      IF in_keep IS NULL THEN
        DELETE FROM ${inSchema}.record WHERE ${one};
      ELSE
        UPDATE ${inSchema}.record SET version = gone_version, value = NULL, bytes = NULL,
          updated_at = floor(extract(epoch FROM clock_timestamp()) * 1000),
          total_bytes = (SELECT coalesce(sum(total_bytes), 0) FROM ${inSchema}.past WHERE ${one}) WHERE ${one};
        PERFORM ${inSchema}.forget_histories(in_collection, in_owner);
      END IF;
      PERFORM pg_notify(in_schema, gone_version || ' ' || in_notice);
    END $body$`;
}

/**
 * The prompts and resources of an owner are counted where they change, so that what their quota costs does not grow with them. Their writers
 * wait for each other anyway, for the lock of the owner; those of other collections would do so for their count alone.
 */
function usageOfOwners(inSchema: string): string {
  const one = "collection = in_collection AND owner = in_owner AND key = in_key";
  return `
    CREATE TABLE ${inSchema}.usage (
      owner text COLLATE "C" NOT NULL, collection text COLLATE "C" NOT NULL, items bigint NOT NULL, bytes bigint NOT NULL,
      PRIMARY KEY (owner, collection)) WITH (fillfactor = 50);
    -- Writes wait until all of this is there.
    LOCK TABLE ${inSchema}.record IN SHARE MODE;
    INSERT INTO ${inSchema}.usage SELECT owner, collection, count(*), sum(total_bytes) FROM ${inSchema}.record
      WHERE value IS NOT NULL AND collection IN ('prompt', 'resource') GROUP BY owner, collection;

    CREATE FUNCTION ${inSchema}.counted() RETURNS trigger LANGUAGE plpgsql AS $body$
    DECLARE
      more_items bigint := 0;
      more_bytes bigint := 0;
      of_owner text := coalesce(NEW.owner, OLD.owner);
      of_collection text := coalesce(NEW.collection, OLD.collection);
    BEGIN
      IF OLD.value IS NOT NULL THEN
        more_items := -1;
        more_bytes := -OLD.total_bytes;
      END IF;
      IF NEW.value IS NOT NULL THEN
        more_items := more_items + 1;
        more_bytes := more_bytes + NEW.total_bytes;
      END IF;
      IF more_items <> 0 OR more_bytes <> 0 THEN
        INSERT INTO ${inSchema}.usage AS u VALUES (of_owner, of_collection, more_items, more_bytes)
          ON CONFLICT (owner, collection) DO UPDATE SET items = u.items + more_items, bytes = u.bytes + more_bytes;
      END IF;
      RETURN NULL;
    END $body$;
    CREATE TRIGGER counted AFTER INSERT OR UPDATE ON ${inSchema}.record
      FOR EACH ROW WHEN (NEW.collection IN ('prompt', 'resource')) EXECUTE FUNCTION ${inSchema}.counted();
    CREATE TRIGGER counted_deletion AFTER DELETE ON ${inSchema}.record
      FOR EACH ROW WHEN (OLD.collection IN ('prompt', 'resource')) EXECUTE FUNCTION ${inSchema}.counted();

    CREATE OR REPLACE FUNCTION ${inSchema}.put(
      in_schema text, in_collection text, in_owner text, in_key text, in_value text, in_bytes bytea, in_total bigint,
      in_expected bigint, in_keep integer, in_counted text[], in_max_items bigint, in_max_bytes bigint, in_notice text,
      OUT found_version bigint, OUT used_items bigint, OUT used_bytes bigint, OUT put_version bigint, OUT put_at bigint)
    LANGUAGE plpgsql AS $body$
    #variable_conflict use_column
    BEGIN
      IF in_counted IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(E'\\x01', in_schema, in_owner), 1));
      END IF;
      found_version := ${inSchema}.locked_version(in_schema, in_collection, in_owner, in_key);
      IF in_expected <> found_version THEN RETURN; END IF;
      IF in_counted <@ ARRAY['prompt', 'resource'] THEN
        SELECT coalesce(sum(items), 0), coalesce(sum(bytes), 0) INTO used_items, used_bytes FROM ${inSchema}.usage
          WHERE owner = in_owner AND collection = ANY (in_counted);
        SELECT used_items - count(*), used_bytes - coalesce(sum(total_bytes), 0) INTO used_items, used_bytes
          FROM ${inSchema}.record WHERE ${one} AND value IS NOT NULL AND in_collection = ANY (in_counted);
      ELSIF in_counted IS NOT NULL THEN
        SELECT count(*), coalesce(sum(total_bytes), 0) INTO used_items, used_bytes FROM ${inSchema}.record
          WHERE owner = in_owner AND collection = ANY (in_counted) AND value IS NOT NULL
          AND (collection, key) <> (in_collection, in_key);
      END IF;
      IF used_items + 1 > in_max_items OR used_bytes + in_total > in_max_bytes THEN RETURN; END IF;
      PERFORM ${inSchema}.keep(in_collection, in_owner, in_key, in_keep);
      put_at := floor(extract(epoch FROM clock_timestamp()) * 1000);
      INSERT INTO ${inSchema}.record AS r VALUES (in_collection, in_owner, in_key, 1, put_at, in_value, in_bytes, in_total)
        ON CONFLICT (collection, owner, key) DO UPDATE SET
          version = r.version + 1, updated_at = put_at, value = in_value, bytes = in_bytes, total_bytes = in_total
        RETURNING r.version INTO put_version;
      PERFORM pg_notify(in_schema, put_version || ' ' || in_notice);
    END $body$`;
}

/**
 * Messages between processes, which read them when they are notified. They are not written to the log of the database: after a crash of it
 * no process waits for them. A channel without a subscriber has no lock, and nothing is sent to it.
 */
function messages(inSchema: string): string {
  return `
    CREATE UNLOGGED TABLE ${inSchema}.message (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      channel text COLLATE "C" NOT NULL,
      body text NOT NULL,
      sent_at timestamptz NOT NULL DEFAULT clock_timestamp());
    CREATE INDEX ON ${inSchema}.message (sent_at);

    CREATE FUNCTION ${inSchema}.channel_key(in_schema text, in_channel text) RETURNS bigint LANGUAGE sql STABLE AS
    $body$ SELECT hashtextextended(concat_ws(E'\\x01', in_schema, in_channel), 3) $body$;

    CREATE FUNCTION ${inSchema}.publish(in_schema text, in_notifications text, in_channel text, in_body text)
    RETURNS boolean LANGUAGE plpgsql AS $body$
    DECLARE
      channel_key bigint := ${inSchema}.channel_key(in_schema, in_channel);
      message_id bigint;
    BEGIN
      IF NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid = ((channel_key >> 32) & 4294967295)::oid AND objid = (channel_key & 4294967295)::oid)
      THEN RETURN false; END IF;
      INSERT INTO ${inSchema}.message (channel, body) VALUES (in_channel, in_body) RETURNING id INTO message_id;
      PERFORM pg_notify(in_notifications, message_id || ' ' || in_channel);
      DELETE FROM ${inSchema}.message WHERE id IN (
        SELECT id FROM ${inSchema}.message WHERE sent_at < clock_timestamp() - interval '30 seconds'
        ORDER BY sent_at LIMIT 100 FOR UPDATE SKIP LOCKED);
      RETURN true;
    END $body$`;
}
