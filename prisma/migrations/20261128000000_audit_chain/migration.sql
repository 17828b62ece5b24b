-- The audit as chains of hashes, one partition a month (docs/adr/0010). A row gets its place in a chain and its hash when it
-- is inserted, in the database, so that every writer's rows are chained in the transaction that writes them.

ALTER TABLE "audit_events" RENAME TO "audit_events_before";
ALTER TABLE "audit_events_before" RENAME CONSTRAINT "audit_events_pkey" TO "audit_events_before_pkey";
DROP INDEX "audit_events_tool_call_key";
DROP INDEX "audit_events_at_idx";
DROP INDEX "audit_events_principal_at_idx";

CREATE TABLE "audit_events" (
    "id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "kind" TEXT NOT NULL,
    "call_id" TEXT,
    "request_id" TEXT NOT NULL,
    "trace_id" TEXT,
    "principal" TEXT NOT NULL,
    "key_id" TEXT,
    "ip" TEXT,
    "session_id" TEXT,
    "run_id" TEXT,
    "round" INTEGER,
    "model" TEXT,
    "server" TEXT,
    "tool" TEXT,
    "name" TEXT,
    "definition_hash" TEXT,
    "arguments" TEXT,
    "result" TEXT,
    "arguments_digest" TEXT,
    "result_digest" TEXT,
    "success" BOOLEAN NOT NULL,
    "state" TEXT,
    "error_code" TEXT,
    "duration_ms" DOUBLE PRECISION,
    "queue_wait_ms" DOUBLE PRECISION,
    "attempt" INTEGER,
    "cached" BOOLEAN,
    "isolation" TEXT,
    "policy_rule" TEXT,
    "approval_id" TEXT,
    "approver" TEXT,
    "worker" TEXT,
    "chain" INTEGER,
    "position" BIGINT,
    "previous_hash" BYTEA,
    "hash" BYTEA,

    CONSTRAINT "audit_events_pkey" PRIMARY KEY ("at", "id")
) PARTITION BY RANGE ("at");
CREATE INDEX "audit_events_principal_at_idx" ON "audit_events"("principal", "at");
CREATE INDEX "audit_events_session_id_at_idx" ON "audit_events"("session_id", "at");
CREATE INDEX "audit_events_tool_at_idx" ON "audit_events"("tool", "at");

-- Where each chain ends. A chain belongs to one database session at a time, which holds the advisory lock of its number.
CREATE TABLE "audit_chains" (
    "chain" INTEGER NOT NULL,
    "position" BIGINT NOT NULL DEFAULT 0,
    "hash" BYTEA NOT NULL DEFAULT '',

    CONSTRAINT "audit_chains_pkey" PRIMARY KEY ("chain")
) WITH (fillfactor = 50);

-- `heads` and `starts` are {"<chain>": ["<position>", "<hash>"]}: the last row of each chain, and the last one of it that went
-- with a month whose time was over.
CREATE TABLE "audit_checkpoints" (
    "number" BIGINT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "heads" JSON NOT NULL,
    "starts" JSON NOT NULL,
    "dropped" TEXT,
    "previous_hash" BYTEA NOT NULL,
    "hash" BYTEA NOT NULL,
    "signature" BYTEA,

    CONSTRAINT "audit_checkpoints_pkey" PRIMARY KEY ("number")
);

-- Gives the session the first chain that no other session has.
CREATE FUNCTION "audit_take_chain"() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    taken integer := 1;
    head text;
BEGIN
    WHILE NOT pg_try_advisory_lock(727073, taken) LOOP
        taken := taken + 1;
    END LOOP;
    INSERT INTO audit_chains (chain) VALUES (taken) ON CONFLICT DO NOTHING;
    -- Locked, so that it is the last that was committed, whatever this transaction sees otherwise.
    SELECT chain || ' ' || position || ' ' || encode(hash, 'hex') INTO STRICT head
    FROM audit_chains WHERE chain = taken FOR UPDATE;
    RETURN head;
END
$$;

-- The end of the session's chain is a setting of the session: a transaction that is rolled back takes it back. Who does not
-- say that it is a writer of the audit gets no hash. Every expression is one that PL/pgSQL evaluates without a query.
CREATE FUNCTION "audit_chain_row"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    head text := current_setting('signalbox.audit_head', true);
BEGIN
    IF coalesce(current_setting('signalbox.audit_writer', true), '') = '' THEN
        RETURN NEW;
    END IF;
    IF coalesce(head, '') = '' THEN
        head := audit_take_chain();
    END IF;
    NEW.chain := split_part(head, ' ', 1);
    NEW.position := split_part(head, ' ', 2)::bigint + 1;
    NEW.previous_hash := decode(split_part(head, ' ', 3), 'hex');
    NEW.hash := sha256(convert_to(row(NEW.chain, NEW.position, NEW.previous_hash, NEW.id, extract(epoch FROM NEW.at),
        NEW.kind, NEW.call_id, NEW.request_id, NEW.trace_id, NEW.principal, NEW.key_id, NEW.ip, NEW.session_id, NEW.run_id,
        NEW.round, NEW.model, NEW.server, NEW.tool, NEW.name, NEW.definition_hash, NEW.arguments, NEW.result,
        NEW.arguments_digest, NEW.result_digest, NEW.success, NEW.state, NEW.error_code, NEW.duration_ms, NEW.queue_wait_ms,
        NEW.attempt, NEW.cached, NEW.isolation, NEW.policy_rule, NEW.approval_id, NEW.approver, NEW.worker)::text, 'UTF8'));
    head := set_config('signalbox.audit_head', NEW.chain || ' ' || NEW.position || ' ' || encode(NEW.hash, 'hex'), false);
    RETURN NEW;
END
$$;
CREATE TRIGGER "audit_chain_row" BEFORE INSERT ON "audit_events" FOR EACH ROW EXECUTE FUNCTION "audit_chain_row"();

CREATE FUNCTION "audit_keep_head"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    head text := current_setting('signalbox.audit_head', true);
BEGIN
    IF coalesce(head, '') = '' OR head = current_setting('signalbox.audit_kept', true) THEN
        RETURN NULL;
    END IF;
    UPDATE audit_chains SET position = split_part(head, ' ', 2)::bigint, hash = decode(split_part(head, ' ', 3), 'hex')
    WHERE chain = split_part(head, ' ', 1)::integer;
    head := set_config('signalbox.audit_kept', head, false);
    RETURN NULL;
END
$$;
CREATE TRIGGER "audit_keep_head" AFTER INSERT ON "audit_events" FOR EACH STATEMENT EXECUTE FUNCTION "audit_keep_head"();

-- Rows of a month that has no partition yet.
CREATE TABLE "audit_events_default" PARTITION OF "audit_events" DEFAULT;
CREATE UNIQUE INDEX "audit_events_default_call" ON "audit_events_default"("call_id") WHERE "kind" = 'tool_call';

-- Makes the partition of the month (UTC) of `moment`, unless it is there. Attached when it is complete, since PARTITION OF
-- would lock out every writer; what has to be locked is not waited for.
CREATE FUNCTION "audit_make_partition"(moment timestamptz) RETURNS void LANGUAGE plpgsql SET lock_timeout = '500ms' AS $$
DECLARE
    first timestamp := date_trunc('month', moment AT TIME ZONE 'UTC');
    since timestamptz := first AT TIME ZONE 'UTC';
    until timestamptz := (first + interval '1 month') AT TIME ZONE 'UTC';
    partition text := 'audit_events_' || to_char(first, 'YYYY_MM');
BEGIN
    IF to_regclass(partition) IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(727073, 0);
    IF to_regclass(partition) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE audit_events INCLUDING DEFAULTS)', partition);
    EXECUTE format('CREATE UNIQUE INDEX %I ON %I (call_id) WHERE kind = ''tool_call''', partition || '_call', partition);
    EXECUTE format('WITH moved AS (DELETE FROM audit_events_default WHERE at >= %L AND at < %L RETURNING *)
        INSERT INTO %I SELECT * FROM moved', since, until, partition);
    EXECUTE format('ALTER TABLE audit_events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', partition, since, until);
END
$$;

SELECT audit_make_partition(month) FROM (
    SELECT DISTINCT date_trunc('month', at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS month FROM audit_events_before
    UNION SELECT now() + n * interval '1 month' FROM generate_series(0, 2) n) AS months;

SELECT set_config('signalbox.audit_writer', 'on', true);
INSERT INTO "audit_events" (id, at, kind, call_id, request_id, trace_id, principal, key_id, ip, session_id, run_id, round, model,
    server, tool, name, definition_hash, arguments, result, arguments_digest, result_digest, success, state, error_code,
    duration_ms, queue_wait_ms, attempt, cached, isolation, policy_rule, approval_id, approver, worker)
SELECT id, at, kind, call_id, request_id, trace_id, principal, key_id, ip, session_id, run_id, round, model,
    server, tool, name, definition_hash, arguments, result, arguments_digest, result_digest, success, state, error_code,
    duration_ms, queue_wait_ms, attempt, cached, isolation, policy_rule, approval_id, approver, worker
FROM "audit_events_before" ORDER BY at, id;
DROP TABLE "audit_events_before";
