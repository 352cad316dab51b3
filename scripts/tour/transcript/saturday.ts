// The last session: the same mail, after the guard of the store was turned on.

import { create, refused, type Session, view } from './call.ts'
import { access, leakedKey } from './friday.ts'

export const saturday: Session = {
  id: 'saturday',
  request: 'Answer the support mail that is left',
  calls: [
    view('/memories'),
    refused(
      'sensitive content: AWS secret key in line 2',
      create(access, '# Access to the backups', `aws_secret_access_key = ${leakedKey}`),
    ),
  ],
}
