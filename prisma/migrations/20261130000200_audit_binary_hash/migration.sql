-- New rows of the audit are hashed in their binary form, which takes about half the time of their text. It depends on no setting but the
-- encoding of the session, which is UTF-8 for every program of ours. The first byte of a hash says of which form it is: 2. Older hashes
-- have 32 bytes and none in front.
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
    NEW.hash := '\x02'::bytea || sha256(record_send(row(NEW.chain, NEW.position, NEW.previous_hash, NEW.id, NEW.at,
        NEW.kind, NEW.call_id, NEW.request_id, NEW.trace_id, NEW.principal, NEW.key_id, NEW.ip, NEW.session_id, NEW.run_id,
        NEW.round, NEW.model, NEW.server, NEW.tool, NEW.name, NEW.definition_hash, NEW.arguments, NEW.result,
        NEW.arguments_digest, NEW.result_digest, NEW.success, NEW.state, NEW.error_code, NEW.duration_ms, NEW.queue_wait_ms,
        NEW.attempt, NEW.cached, NEW.isolation, NEW.policy_rule, NEW.approval_id, NEW.approver, NEW.worker)));
    head := set_config('signalbox.audit_head', NEW.chain || ' ' || NEW.position || ' ' || encode(NEW.hash, 'hex'), false);
    RETURN NEW;
END
$$;
