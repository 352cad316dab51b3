// The console in a browser: the timeline, sessions, merges, and several tabs that follow the store.

import { describe, expect, test } from 'vitest'
import {
  browserOfFile,
  chromiumHere,
  expectAccessible,
  pageIn,
  pageToLookAt,
} from '../support/browser.ts'
import { session } from '../support/console-store.ts'
import { copiedText } from '../support/in-page.mjs'
import { patience } from '../support/patience.ts'
import { contentsOf } from '../support/stores.ts'

const browser = browserOfFile()
const { missing, note } = chromiumHere

const opened = async (path: string, options?: Parameters<typeof pageToLookAt>[2]) =>
  pageToLookAt(await browser(), path, options)

describe.skipIf(missing)(`history in a browser${note}`, { tags: ['slow'] }, () => {
  test('the timeline is grouped, filtered, and each group a tree of what changed', async () => {
    const { page } = await opened('/timeline')
    await page.getByRole('button', { name: 'friday-billing', exact: true }).click()
    await page.getByRole('link', { name: '2 memories' }).click()
    const tree = page.getByRole('tree', { name: 'What changed' })
    await tree.getByRole('treeitem', { name: 'decisions.md' }).waitFor()
    await page.locator('mark', { hasText: 'five' }).waitFor()
    await tree.focus()
    await page.keyboard.press('End')
    await page.getByRole('heading', { name: '/todo.md' }).waitFor()
    await expectAccessible(page)
    expect(page.url()).not.toContain('friday')
  })

  test('a session is undone after its dry run was shown', async () => {
    const { page, store } = await opened('/sessions')
    await page.getByRole('link', { name: /Undo.*friday-billing/ }).click()
    await page.getByText('Nothing has happened yet.').waitFor()
    await page.getByText('retried five times').waitFor()
    expect(Object.keys(await contentsOf(store))).toContain('/todo.md')
    await page.getByLabel(/^Reason/).fill('wrong')
    await page.getByRole('button', { name: /^Undo/ }).click()
    await page.getByText('Done.').waitFor()
    const contents = await contentsOf(store)
    expect(Object.keys(contents)).not.toContain('/todo.md')
    expect(contents['/projects/billing/decisions.md']).toContain('three times')
  })

  test('shows a merge on the first page, with both inputs, until it is reviewed', async () => {
    const { page } = await opened('/')
    await page.getByRole('button', { name: 'Review /projects/billing/incidents.md' }).click()
    await page.getByRole('columnheader', { name: 'Result' }).waitFor()
    await page.getByRole('link', { name: '/projects/billing/incidents.md', exact: true }).click()
    await page.getByRole('columnheader', { name: 'Result' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Mark reviewed' }).click()
    await page.getByRole('button', { name: 'Reviewed', exact: true }).waitFor()
    await page
      .getByRole('navigation')
      .getByRole('link', { name: /^Review/ })
      .click()
    await page.getByRole('heading', { name: 'friday-billing' }).waitFor()
    await expect.poll(() => page.locator('.merged').count()).toBe(0)
  })

  test('two tabs follow an agent, and show nothing that was erased', async () => {
    const { page, context, store, shown } = await opened('/memories')
    const [other] = await Promise.all([
      context.waitForEvent('page'),
      page.getByRole('button', { name: 'Open another tab' }).click(),
    ])
    await other.getByRole('treeitem', { name: 'todo.md' }).click()
    await other.getByText('call the payment team').waitFor()
    expect(other.url()).not.toContain('token')
    await page.getByRole('treeitem', { name: 'todo.md' }).click()
    await session(store, 'agent').write('/todo.md', 'a secret canary\n')
    for (const tab of [page, other]) {
      await tab.getByText('a secret canary').first().waitFor(patience)
    }
    await store.as({ actor: { type: 'user', id: 'anna' } }).redact({
      select: { matching: /canary/u },
      reason: 'leaked_secret',
      current: 'overwrite',
    })
    for (const tab of [page, other]) {
      await expect.poll(() => tab.content(), patience).not.toContain('canary')
    }
    const third = await pageIn(context, shown.url)
    await third.page.getByRole('heading', { name: 'This tab has no key' }).waitFor()
    expect(await third.page.content()).not.toContain('todo.md')
    await other.getByRole('button', { name: 'Lock' }).click()
    await shown.close()
    for (const tab of [page, other]) {
      await tab.getByRole('heading', { name: 'Locked' }).waitFor()
      await tab.getByText('You locked the console').waitFor()
      expect(await tab.content()).not.toMatch(/todo\.md|decisions/)
    }
  })

  test('warns before it locks itself, and tells why it did', async () => {
    // It takes seconds on a busy machine, in which the console is idle.
    await browser()
    const { page, context, shown } = await opened('/', { idleMs: 14_000 })
    void shown.locked.then(() => shown.close())
    const warning = page.getByRole('alert').getByText('It locks in a minute.')
    await warning.waitFor()
    await page.getByRole('button', { name: 'Keep it open' }).click()
    await warning.waitFor({ state: 'detached' })
    await warning.waitFor()
    // This takes seconds too, and may find it locked, which a click would not survive.
    await expectAccessible(page)
    await page.getByRole('heading', { name: 'Locked' }).waitFor()
    await page.getByText(/No one has used the console since \d\d:\d\d/).waitFor()
    await expectAccessible(page)
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy the command' }).click()
    await page.getByText('Copied').waitFor()
    expect(await page.evaluate(copiedText)).toBe('gitlocket console')
  })

  test('tells that its program has ended', async () => {
    const { page, shown } = await opened('/')
    await page.getByRole('treeitem').or(page.getByRole('heading')).first().waitFor()
    await shown.close()
    await page.getByText('The program that showed this page has ended.').waitFor()
  })
})
