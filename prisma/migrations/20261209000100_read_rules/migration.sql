-- How often a rule decided reads of resources and prompts is counted by this index alone, as calls of tools are by theirs.
CREATE INDEX "audit_events_read_rule_at_idx" ON "audit_events"("policy_rule", "at") WHERE "kind" IN ('resource_read', 'prompt_get');
