-- How often a rule of the policy decided, and the calls behind that figure: counted from the entries of this index alone.
CREATE INDEX "audit_events_policy_rule_at_idx" ON "audit_events"("policy_rule", "at") WHERE "kind" = 'tool_call';
