-- What a session found is read before each of its turns whose tools are searched.
CREATE INDEX "tool_calls_found_idx" ON "tool_calls"("principal", "session_id", "planned_at")
  WHERE "name" = 'find_tools' AND "server" = '';
