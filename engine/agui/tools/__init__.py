"""The tools of an agent: the registry, schemas, approvals, the audit trail."""
