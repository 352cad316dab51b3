// The ports of Node and the cryptography over them; the same table runs in a page and in a Worker.

import { expect, test } from 'vitest'
import { checkKnownAnswers } from '../../support/known-answers/check.ts'

test('the ports and the cryptography give the known answers', async () => {
  expect(await checkKnownAnswers()).toMatchObject({ isNode: true, wrong: [] })
})
