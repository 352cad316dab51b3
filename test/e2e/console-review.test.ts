// The console in a browser: the review of what sessions and merges have changed.

import { describe, expect, test } from 'vitest'
import { browserOfFile, chromiumHere, expectAccessible, pageToLookAt } from '../support/browser.ts'
import { session } from '../support/console-store.ts'
import { contentsOf } from '../support/stores.ts'

const browser = browserOfFile()
const { missing, note } = chromiumHere

const opened = async (path: string) => pageToLookAt(await browser(), path)

describe.skipIf(missing)(`the review in a browser${note}`, { tags: ['slow'] }, () => {
  test('is the first page: a session with reason and differences, until it is kept', async () => {
    const { page, store } = await opened('/')
    const card = page.getByRole('article', { name: /friday-billing/ })
    await card.getByText('note the retry rule').waitFor()
    await card.locator('mark', { hasText: 'five' }).waitFor()
    await card
      .getByRole('button', { name: /todo\.md/ })
      .first()
      .click()
    await card.getByText('call the payment team').waitFor()
    await expectAccessible(page)
    await card.getByRole('button', { name: 'Keep friday-billing' }).click()
    await card.waitFor({ state: 'detached' })
    await session(store, 'friday-billing').write('/todo.md', '- [x] call the payment team\n')
    await card.getByText('[x]').first().waitFor()
    expect(await card.getByText('five').count()).toBe(0)
    await page.getByRole('button', { name: /^Keep all/ }).click()
    await page.getByText('You are up to date').waitFor()
    await expectAccessible(page)
  })

  test('opens a session by an address with an id, and a memory of it in the editor', async () => {
    const { page } = await opened('/')
    await page.getByRole('link', { name: 'friday-billing', exact: true }).click()
    await page.getByRole('tree', { name: 'What changed' }).waitFor()
    expect(new URL(page.url()).pathname).toMatch(/^\/review\/memver_\w+$/)
    await page.reload()
    await page.getByRole('heading', { name: 'friday-billing' }).waitFor()
    await page.getByRole('button', { name: 'Edit /projects/billing/decisions.md' }).click()
    await page.getByRole('textbox', { name: /^Text of/ }).waitFor()
  })

  test('takes an undo back with one button', async () => {
    const { page, store } = await opened('/')
    const before = await contentsOf(store)
    await page.getByRole('link', { name: 'Undo friday-billing' }).click()
    await page.getByText('1 modified, 1 deleted').first().waitFor()
    await page.getByRole('button', { name: /^Undo: change 2/ }).click()
    await page.getByText('Done.').waitFor()
    expect(Object.keys(await contentsOf(store))).not.toContain('/todo.md')
    await page.getByRole('button', { name: 'Take it back' }).click()
    await page.getByText('Taken back.').waitFor()
    expect(await contentsOf(store)).toEqual(before)
    await expectAccessible(page)
  })

  test('groups what an undo leaves alone, with the version to restore', async () => {
    const { page, store } = await opened('/')
    await session(store, 'later').edit('/todo.md', (text) => text.replace('team', 'people'))
    await page.getByRole('link', { name: 'Undo friday-billing' }).click()
    await page.getByText('Later edits touch the same lines').waitFor()
    await page.getByText('1 left alone').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Open /todo.md' }).click()
    await page.locator('h1', { hasText: 'todo.md' }).waitFor()
  })

  test('settles a merge with the lines of one side', async () => {
    const { page, store } = await opened('/')
    const card = page.locator('.merged')
    await card.getByRole('button', { name: /^Review/ }).click()
    await card.getByRole('radio', { name: /this device/ }).check()
    const region = card.getByRole('region', { name: 'The memory now and then' })
    await region.locator('.del', { hasText: 'ONE' }).waitFor()
    await expectAccessible(page)
    await card.getByRole('button', { name: 'Settle' }).click()
    await card.waitFor({ state: 'detached' })
    expect((await contentsOf(store))['/projects/billing/incidents.md']).toBe('one\ntwo\nTHREE\n')
  })

  test('shows the origin of each line that is read, and undoes it', async () => {
    const { page, store } = await opened('/memories')
    await page.getByRole('treeitem', { name: 'decisions.md' }).click()
    const bar = page.getByRole('button', { name: /^Lines? 4.*friday-billing/ })
    await bar.focus()
    await expectAccessible(page)
    await page.keyboard.press('Enter')
    const panel = page.getByRole('region', { name: /^Origin: Lines? 4/ })
    await panel.getByText('note the retry rule').waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await expect.poll(() => bar.and(page.locator(':focus')).count()).toBe(1)
    await bar.click()
    await panel.getByRole('link', { name: 'Show that moment' }).click()
    await page.getByText(/^As it was/).waitFor()
    await page.getByRole('link', { name: 'Back to now' }).click()
    await page.locator('.frame:not(.past)').waitFor()
    await bar.click()
    await panel.getByRole('button', { name: /^Undo/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('.add mark', { hasText: 'three' }).waitFor()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Undo', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const { content } = (await store.read('/projects/billing/decisions.md')) ?? {}
    expect(content).toContain('retried three times')
    await page.getByRole('button', { name: 'Age', exact: true }).click()
    await page.locator('.legend', { hasText: 'today' }).waitFor()
  })

  test('marks a memory with a merge that no one has reviewed', async () => {
    const { page } = await opened('/memories')
    await page.getByRole('img', { name: 'merged, not reviewed' }).waitFor()
    await page.getByRole('treeitem', { name: /incidents\.md/ }).click()
    await page.getByText('changed this memory').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Keep as it is' }).click()
    await page.getByText('changed this memory').waitFor({ state: 'detached' })
    expect(await page.getByRole('img', { name: 'merged, not reviewed' }).count()).toBe(0)
  })
})
