"""What an agent can do: the registry, schemas, approvals, the audit trail."""
