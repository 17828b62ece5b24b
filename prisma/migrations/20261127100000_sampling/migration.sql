-- What a tool server asks a model (kind `sampling`) waits beside its questions; the gateway that answers it is `decided_by`.

ALTER TABLE "approvals" DROP CONSTRAINT "approvals_kind_check";
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_kind_check" CHECK ("kind" IN ('approval', 'question', 'sampling'));
