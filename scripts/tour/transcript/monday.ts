// The first session: an empty memory, a plan, the first notes, and the mistakes of an agent that
// does not know its own files well yet.

import { create, insert, refused, replace, type Session, view } from './call.ts'

const progress = '/memories/billing/progress.md'
const decisions = '/memories/billing/decisions.md'

export const monday: Session = {
  id: 'monday',
  request: 'Move the billing service from SQLite to Postgres',
  calls: [
    view('/memories'),
    create(
      progress,
      '# Billing: SQLite to Postgres',
      '',
      '## Plan',
      '- [ ] Write the Postgres schema',
      '- [ ] Port the invoice queries',
      '- [ ] Port the ledger queries',
      '- [ ] Copy the production data',
      '- [ ] Switch the nightly invoice job',
      '',
      '## State',
      'Nothing done yet. Branch: billing-postgres',
    ),
    create(
      '/memories/conventions.md',
      '# How this team works',
      '- Tests run with `make test`; the database must be up (`make db`)',
      '- Migrations live in db/migrations and are never edited once merged',
      '- Commit subjects are imperative, at most 60 characters',
    ),
    view(progress),
    replace(progress, '- [ ] Write the Postgres schema', '- [x] Write the Postgres schema'),
    create(
      decisions,
      '# Decisions',
      '',
      '- Amounts: numeric(12, 2), because SQLite kept floats and the sums were off by cents',
      '- Ids: bigint identity columns, the old integers are kept',
    ),
    refused(
      'did not appear verbatim',
      replace(decisions, '- Amounts are numeric(12,2)', '- Amounts are numeric(14, 2)'),
    ),
    view(decisions),
    replace(decisions, 'numeric(12, 2)', 'numeric(14, 2)'),
    insert('/memories/conventions.md', 2, '- `make db-reset` throws the test database away'),
    refused('already exists', create(progress, '# Progress', '- [x] Write the Postgres schema')),
    refused('Multiple occurrences', replace(progress, '- [ ] Port the', '- [x] Port the')),
    view(progress, [3, 8]),
    replace(progress, '- [ ] Port the invoice queries', '- [x] Port the invoice queries'),
    refused(
      'Invalid `insert_line` parameter',
      insert(decisions, 40, '- Time zones: timestamptz everywhere, UTC in the code'),
    ),
    insert(decisions, 4, '- Time zones: timestamptz everywhere, UTC in the code'),
    create(
      '/memories/billing/open-questions.md',
      '# Open questions',
      '1. May invoices of closed accounts be deleted after ten years? (asked Ines, legal)',
      '2. Who owns the export to the accountants?',
    ),
    create(
      '/memories/scratch/query-plans.md',
      '# Query plans, before and after',
      'invoices by customer: seq scan 480 ms, with index on (customer_id, issued_on) 3 ms',
    ),
    replace(
      progress,
      'Nothing done yet. Branch: billing-postgres',
      'Schema and invoice queries are done and tested. Next: ledger queries in src/ledger.ts',
    ),
    view('/memories'),
  ],
}
