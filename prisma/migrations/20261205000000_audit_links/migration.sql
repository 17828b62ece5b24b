-- New rows of the audit are hashed in two steps: the digest of what the row says, then the hash of its place in the chain with that
-- digest. So one row can be proved to somebody without the texts of the rows after it: their digests are enough. The first byte of
-- such a hash is 3.
CREATE OR REPLACE FUNCTION "audit_chain_row"() RETURNS trigger LANGUAGE plpgsql AS $$
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
    NEW.hash := '\x03'::bytea || sha256(record_send(row(NEW.chain, NEW.position, NEW.previous_hash, sha256(record_send(row(
        NEW.id, NEW.at, NEW.kind, NEW.call_id, NEW.request_id, NEW.trace_id, NEW.principal, NEW.key_id, NEW.ip, NEW.session_id,
        NEW.run_id, NEW.round, NEW.model, NEW.server, NEW.tool, NEW.name, NEW.definition_hash, NEW.arguments, NEW.result,
        NEW.arguments_digest, NEW.result_digest, NEW.success, NEW.state, NEW.error_code, NEW.duration_ms, NEW.queue_wait_ms,
        NEW.attempt, NEW.cached, NEW.isolation, NEW.policy_rule, NEW.approval_id, NEW.approver, NEW.worker))))));
    head := set_config('signalbox.audit_head', NEW.chain || ' ' || NEW.position || ' ' || encode(NEW.hash, 'hex'), false);
    RETURN NEW;
END
$$;
