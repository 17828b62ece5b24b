-- Makes the partitions of the audit for a role that owns none of its tables and may only add rows (docs/audit.md). Its search
-- path is fixed, since a table of the caller's own could otherwise take the place of one of ours.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION audit_make_partition(timestamptz) SECURITY DEFINER SET search_path = %I, pg_temp',
        current_schema());
END
$$;
