// The second session: a new context that relies on the notes of the first, then an incident.

import { create, insert, refused, rename, replace, type Session, view } from './call.ts'

const progress = '/memories/billing/progress.md'
const incident = '/memories/billing/incidents/invoice-job.md'

export const tuesday: Session = {
  id: 'tuesday',
  request: 'The nightly invoice job failed on staging. Find out why, and go on with the migration',
  calls: [
    view('/memories'),
    view(progress),
    view('/memories/conventions.md'),
    refused('does not exist', view('/memories/billing/notes.md')),
    view('/memories/billing/open-questions.md'),
    create(
      incident,
      '# Nightly invoice job failed on staging',
      '',
      '## What happened',
      '02:00 UTC job started, 02:04 `deadlock detected`, no invoice was written',
      '',
      '## Cause',
      'Not known yet',
    ),
    insert(incident, 4, 'The job takes the customers in no order, the API updates them by id'),
    replace(
      incident,
      'Not known yet',
      'Two transactions lock the same customers in different order',
    ),
    insert(incident, 8, '', '## Fix', 'ORDER BY customer_id FOR UPDATE in src/jobs/invoices.ts'),
    refused(
      'does not exist',
      replace('/memories/progress.md', '- [ ] Port the ledger', '- [x] Port the ledger'),
    ),
    replace(progress, '- [ ] Port the ledger queries', '- [x] Port the ledger queries'),
    insert(progress, 8, '- [ ] Watch the invoice job on staging for two nights'),
    rename('/memories/scratch/query-plans.md', '/memories/billing/query-plans.md'),
    refused('does not exist', rename('/memories/scratch', '/memories/billing/scratch')),
    insert(
      '/memories/billing/query-plans.md',
      2,
      'ledger by month: 1.9 s, with a partial index on open entries 40 ms',
    ),
    refused(
      'already exists',
      rename('/memories/billing/open-questions.md', '/memories/billing/decisions.md'),
    ),
    replace(
      '/memories/billing/open-questions.md',
      '2. Who owns the export to the accountants?\n',
      '2. Who owns the export to the accountants? Tomas does; he wants CSV, not XML\n',
    ),
    view(incident, [3, -1]),
    replace(
      progress,
      'Next: ledger queries in src/ledger.ts',
      'Ledger queries too. The deadlock of the job is fixed. Next: copy the data',
    ),
  ],
}
