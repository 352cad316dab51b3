// The third session: the work ends, notes are merged, moved and deleted, and a handover remains.

import {
  create,
  insert,
  refused,
  remove,
  rename,
  replace,
  type Session,
  unchanged,
  view,
} from './call.ts'

const progress = '/memories/billing/progress.md'
const handover = '/memories/billing/handover.md'

export const thursday: Session = {
  id: 'thursday',
  request: 'Finish the migration, clean your notes up, and leave a handover for the next team',
  calls: [
    view('/memories'),
    view(progress),
    replace(progress, '- [ ] Copy the production data', '- [x] Copy the production data'),
    create(
      '/memories/billing/drafts/handover.md',
      '# Handover, draft',
      'What must be in here: where the data is, what runs at night, who to ask',
    ),
    create('/memories/billing/drafts/mail.md', 'Dear all, billing runs on Postgres since today'),
    replace(progress, '- [ ] Switch the nightly', '- [x] Switch the nightly'),
    replace(progress, '- [ ] Watch the invoice job on staging for two nights\n'),
    unchanged(replace(progress, '# Billing: SQLite', '# Billing: SQLite')),
    create(
      handover,
      '# Billing: handover',
      '',
      'Billing runs on Postgres 16 since Thursday. The old SQLite file is in cold storage',
      '',
      '## At night',
      '02:00 UTC invoices, 03:00 export for the accountants (CSV, Tomas)',
      '',
      '## To know',
      '- Lock customers in the order of their ids, or the job deadlocks',
      '- Amounts are numeric(14, 2); never go through floats',
    ),
    rename('/memories/billing/incidents', '/memories/billing/postmortems'),
    create('/memories/billing/postmortems/README.md', 'One page per incident; keep them short'),
    refused(
      'did not appear verbatim',
      replace(handover, '- Lock customers in order', '- Lock customers by ascending id'),
    ),
    view(handover, [8, 10]),
    replace(handover, 'in the order of their ids', 'by ascending id'),
    insert(handover, 10, '- Indexes were measured, see query-plans.md'),
    view('/memories/billing'),
    remove('/memories/billing/drafts'),
    remove('/memories/billing/open-questions.md'),
    refused('does not exist', remove('/memories/billing/open-questions.md')),
    rename('/memories/billing', '/memories/done/billing'),
    refused('does not exist', view(handover)),
    replace(
      '/memories/done/billing/progress.md',
      'Next: copy the data',
      'Everything is done; handover.md is the place to start',
    ),
    insert('/memories/conventions.md', 5, '- A finished project moves to done/'),
    view('/memories'),
  ],
}
