-- A call whose caller has to sign in at its tool server is parked, as one that needs an approval is.

ALTER TABLE "approvals" DROP CONSTRAINT "approvals_kind_check";
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_kind_check" CHECK ("kind" IN ('approval', 'sign_in', 'question', 'sampling'));
