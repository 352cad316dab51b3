// The console in a browser: memories, their histories, edits, and time travel.

import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { browserOfFile, chromiumHere, consolePage, expectAccessible } from '../support/browser.ts'
import { session, storeToLookAt } from '../support/console-store.ts'
import { openedConsole } from '../support/console.ts'
import { contentsOf } from '../support/stores.ts'

const browser = browserOfFile()
const { missing, note } = chromiumHere

async function opened(options: Parameters<typeof openedConsole>[1] = {}) {
  const store = await storeToLookAt()
  const shown = await openedConsole(store, options)
  const found = await consolePage(await browser(), shown.newAddress().replace('/#', '/memories#'))
  await found.page.getByRole('treeitem', { name: 'decisions.md' }).waitFor()
  // The tree may be there before it is known what this user may.
  await found.page.getByText(/^\d+ commits$/).waitFor()
  return { ...found, store, shown }
}

async function openMemory(page: Page, name: string): Promise<void> {
  await page.getByRole('treeitem', { name }).click()
  await page.locator('h1', { hasText: name }).waitFor()
}

describe.skipIf(missing)(`memories in a browser${note}`, { tags: ['slow'] }, () => {
  test('the token leaves the address, which then holds ids alone', async () => {
    const { page } = await opened()
    expect(page.url()).not.toContain('token')
    await openMemory(page, 'decisions.md')
    expect(new URL(page.url()).pathname).toMatch(/^\/memory\/mem_\w+$/)
    expect(await page.title()).toBe('gitlocket')
    await page.reload()
    await page.locator('h1', { hasText: 'decisions.md' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Recent activity' }).waitFor()
  })

  test('a memory is read, compared, and each line traced; each with an address', async () => {
    const { page } = await opened()
    await openMemory(page, 'decisions.md')
    await page.getByRole('heading', { name: 'Decisions, billing' }).waitFor()
    await page.getByRole('tab', { name: 'Changes' }).click()
    const diff = page.getByRole('region', { name: 'Both versions' })
    await diff.locator('mark', { hasText: 'three' }).waitFor()
    expect(await diff.locator('.del mark').allTextContents()).toContain('hour')
    await diff.getByRole('button', { name: 'equal lines' }).first().click()
    await diff.getByText('Line 10 that nobody has changed.').first().waitFor()
    await page.getByRole('button', { name: 'Inline' }).click()
    await page.reload()
    await page.locator('mark', { hasText: 'three' }).waitFor()
    await page.getByRole('tab', { name: 'Changes' }).press('ArrowRight')
    await page.locator('.origin a', { hasText: 'friday-billing' }).first().waitFor()
    await page.getByRole('tab', { name: 'Source' }).click()
    await page.getByText('Line 10 that nobody has changed.').waitFor()
  })

  test('any two versions are compared, and redacted ones are marked', async () => {
    const { page } = await opened()
    await page.getByLabel('Show deleted').check()
    await openMemory(page, 'old.md')
    await page.getByText('It is deleted').waitFor()
    const history = page.getByRole('complementary', { name: 'History of this memory' })
    await history.getByText('redacted').first().waitFor()
    await page.getByRole('tab', { name: 'Changes' }).click()
    const from = page.getByLabel('From', { exact: true })
    await from.selectOption({ index: 2 })
    await page.getByText('A text is redacted').waitFor()
    await from.selectOption({ index: 1 })
    await page.locator('td.del', { hasText: 'nothing any more' }).waitFor()
    await history.locator('li.red a').first().click()
    await page.getByText('A text is redacted').waitFor()
    expect(await page.content()).not.toContain('sk-old')
  })

  test('a row of the history opens its version, and its menu has the rest', async () => {
    const { page } = await opened()
    await openMemory(page, 'decisions.md')
    const history = page.getByRole('complementary', { name: 'History of this memory' })
    const open = history.locator('[aria-current]')
    await open.getByText('friday-billing').waitFor()
    await page.getByText('retried five times').waitFor()
    await page.keyboard.press('j')
    await page.getByText('retried three times').waitFor()
    await open.getByText('tuesday-import').waitFor()
    await page.keyboard.press('k')
    await page.getByText('retried five times').waitFor()
    await history.getByRole('button', { name: 'More about version 1' }).click()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await history.getByRole('link', { name: 'Restore…' }).waitFor({ state: 'detached' })
    await history.getByRole('button', { name: 'More about version 1' }).click()
    await history.getByRole('link', { name: 'Show that moment' }).click()
    await page.locator('.frame.past').waitFor()
    await history.locator('li.later').getByText('friday-billing').waitFor()
    await page.getByText('retried three times').waitFor()
  })

  test('an edit is saved on request, with its reason', async () => {
    const { page, store } = await opened()
    await openMemory(page, 'todo.md')
    await page.keyboard.press('e')
    const editor = page.getByRole('textbox', { name: 'Text of /todo.md' })
    await editor.waitFor()
    await page.keyboard.type('# Things\n')
    expect((await contentsOf(store))['/todo.md']).toBe('- [ ] call the payment team\n')
    // The typed text is kept while another view is shown.
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.goBack()
    await editor.getByText('# Things').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Reason').fill('a heading')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Things' }).waitFor()
    expect((await contentsOf(store))['/todo.md']).toBe('# Things\n- [ ] call the payment team\n')
    await page.getByText('a heading').first().waitFor()
  })

  test.each(['light', 'dark'] as const)('the editor colors Markdown, %s', async (colorScheme) => {
    const { page, store } = await opened()
    await page.emulateMedia({ colorScheme })
    const text = [
      '# A heading',
      'A **bold** word, *another*, ~~no~~, `code`, [a link](https://example.org) and \\* escapes.',
      '- [ ] a task',
      '> a quote',
      '| a | b |',
      '|---|---|',
      '<!-- a comment -->',
      '```ts',
      'const fenced = 1',
      '```',
      ...Array.from({ length: 60 }, (_, line) => `Line ${line}`),
    ]
    await session(store, 'writer').write('/todo.md', `${text.join('\n')}\n`)
    await openMemory(page, 'todo.md')
    await page.getByRole('heading', { name: 'A heading' }).waitFor()
    await page.keyboard.press('e')
    const editor = page.getByRole('textbox', { name: 'Text of /todo.md' })
    await editor.locator('.md-heading', { hasText: 'A heading' }).waitFor()
    const shown = {
      'md-strong': 'bold',
      'md-emphasis': 'another',
      'md-struck': 'no',
      'md-code': 'const fenced = 1',
      'md-link': 'https://example.org',
      'md-quote': 'a quote',
      'md-mark': '<!-- a comment -->',
    }
    for (const [kind, words] of Object.entries(shown)) {
      await editor.locator(`.${kind}`, { hasText: words }).waitFor()
    }
    await page.keyboard.press('Control+f')
    await page.locator('.cm-panels').waitFor()
    await expectAccessible(page)
  })

  test('an edit of a text changed since is merged, shown, and saved on request', async () => {
    const { page, store } = await opened()
    const lines = ['one', 'two', 'three', 'four', 'five']
    await session(store, 'before').write('/todo.md', `${lines.join('\n')}\n`)
    await openMemory(page, 'todo.md')
    await page.getByText('five').waitFor()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('textbox', { name: 'Text of /todo.md' }).waitFor()
    await page.keyboard.type('mine ')
    await session(store, 'agent').append('/todo.md', 'theirs\n')
    await page.getByRole('status').getByText('has changed this memory since you began').waitFor()
    await page.keyboard.press('Control+s')
    await page.getByText('Nothing overlaps.').waitFor()
    expect((await contentsOf(store))['/todo.md']).toMatch(/^one.*theirs\n$/s)
    await page.locator('.cm-merge-b', { hasText: 'mine one' }).waitFor()
    await page.getByRole('button', { name: 'Take the current text here' }).first().waitFor()
    expect(await page.getByRole('alert').allTextContents()).toEqual([])
    await expectAccessible(page)
    // A third one is seen again.
    await session(store, 'third').append('/todo.md', 'third\n')
    await page.getByRole('status').getByText('has changed this memory since you began').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Nothing overlaps.').waitFor()
    expect((await contentsOf(store))['/todo.md']).toMatch(/^one/)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('tab', { name: 'Read' }).waitFor()
    const after = ['mine one', ...lines.slice(1), 'theirs', 'third', '']
    expect((await contentsOf(store))['/todo.md']).toBe(after.join('\n'))
  })

  test('asks for each place that two have changed, and keeps both at first', async () => {
    const { page, store } = await opened()
    await openMemory(page, 'todo.md')
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('textbox', { name: 'Text of /todo.md' }).waitFor()
    await page.keyboard.type('mine ')
    await session(store, 'agent').write('/todo.md', 'theirs\n')
    await page.keyboard.press('Control+s')
    await page.getByText('Place 1 of 1').waitFor()
    expect(await page.getByLabel('Keep both').isChecked()).toBe(true)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.locator('.cm-merge-b', { hasText: 'mine - [ ] call' }).waitFor()
    expect((await contentsOf(store))['/todo.md']).toBe('theirs\n')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('tab', { name: 'Read' }).waitFor()
    expect((await contentsOf(store))['/todo.md']).toBe('theirs\nmine - [ ] call the payment team\n')
  })

  test('memories are created, moved, deleted and restored', async () => {
    const { page, store } = await opened()
    await page.keyboard.press('n')
    await page.getByLabel('Path', { exact: true }).fill('/new/one.md')
    const editor = page.getByRole('textbox', { name: 'Text of the new memory' })
    await editor.click()
    await page.keyboard.type('hello')
    // By the keyboard: the button moves while the editor finds its size.
    await page.getByLabel('Reason').press('Enter')
    const created = page.locator('h1', { hasText: 'one.md' })
    await created.or(page.getByRole('alert')).first().waitFor()
    expect(await page.getByRole('alert').allTextContents()).toEqual([])
    await page.getByRole('button', { name: 'Move…' }).click()
    await page.getByLabel('To the path').fill('/todo.md')
    await page.getByRole('button', { name: 'Move', exact: true }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('To the path').fill('/new/two.md')
    await page.getByRole('button', { name: 'Move', exact: true }).click()
    await page.locator('h1', { hasText: 'two.md' }).waitFor()
    expect((await contentsOf(store))['/new/two.md']).toBe('hello')
    await page.getByRole('button', { name: 'Delete…' }).click()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('It is deleted').waitFor()
    await page.getByRole('link', { name: 'Restore…' }).click()
    await page.getByText('Nothing has happened yet.').waitFor()
    await page.getByRole('button', { name: /^Restore/ }).click()
    await page.getByText('Done.').waitFor()
    expect((await contentsOf(store))['/new/two.md']).toBe('hello')
  })

  test('a late editor does not take the focus from the path of a new memory', async () => {
    const { page } = await opened()
    for (const path of ['/first.md', '/second.md']) {
      let loadEditor = (): void => {}
      const mayLoad = new Promise<void>((resolve) => {
        loadEditor = resolve
      })
      await page.route('**/code-editor-*.js', async (route) => {
        await mayLoad
        await route.continue()
      })
      await page.keyboard.press('n')
      const field = page.getByLabel('Path', { exact: true })
      await page.locator('input:focus').and(field).waitFor()
      loadEditor()
      await page.getByRole('textbox', { name: 'Text of the new memory' }).waitFor()
      await page.keyboard.type(path.slice(1))
      expect(await field.inputValue()).toBe(path)
      await page.goBack()
      await page.getByRole('heading', { name: 'Recent activity' }).waitFor()
    }
  })

  test('the whole page is of a moment of the past, and cannot be edited there', async () => {
    const { page, store } = await opened()
    await openMemory(page, 'decisions.md')
    const slider = page.getByRole('slider', { name: 'Moment shown' })
    const { commits } = await store.status()
    await expect.poll(() => slider.inputValue()).toBe(String(commits))
    await slider.focus()
    // Left and right step through the changes of the open memory, up and down through all.
    for (let step = 0; step < 5; step += 1) await page.keyboard.press('ArrowDown')
    await page.getByText(`Commit ${commits - 5} of ${commits}.`).waitFor()
    expect(page.url()).toContain('?at=')
    await page.getByText('retried three times').waitFor()
    expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0)
    expect(await page.locator('.frame.past').count()).toBe(1)
    await expectAccessible(page)
    await page.reload()
    await page.getByText(`Commit ${commits - 5} of ${commits}.`).waitFor()
    await page.getByRole('link', { name: 'Compare with now' }).click()
    await page.getByRole('heading', { name: 'Compared with now' }).waitFor()
    await page.getByRole('treeitem', { name: 'decisions.md' }).last().click()
    await page.locator('mark', { hasText: 'five' }).waitFor()
    await page.getByRole('link', { name: 'Roll everything back to here…' }).click()
    await page.getByText('Nothing has happened yet.').waitFor()
    await page.getByRole('button', { name: /^Roll/ }).click()
    await page.getByText('Done.').waitFor()
    expect((await contentsOf(store))['/projects/billing/decisions.md']).toContain('three times')
  })

  test('the line of time steps through the changes of the open memory', async () => {
    const { page } = await opened()
    await openMemory(page, 'decisions.md')
    const slider = page.getByRole('slider', { name: 'Moment shown' })
    await page.getByRole('button', { name: 'More about version 1' }).waitFor()
    await slider.focus()
    await page.keyboard.press('ArrowLeft')
    await page.getByText('retried three times').waitFor()
    await page.locator('.frame.past').waitFor()
    const first = page.url()
    // Nothing is before the first one.
    await page.keyboard.press('ArrowLeft')
    await page.locator('li.later').getByText('friday-billing').waitFor()
    expect(page.url()).toBe(first)
    await page.keyboard.press('ArrowRight')
    await page.getByText('retried five times').waitFor()
    await page.keyboard.press('ArrowRight')
    await page.locator('.frame:not(.past)').waitFor()
    expect(await page.locator('.bars .at-merge').count()).toBeGreaterThan(0)
    expect(await page.locator('.bars .at-redaction').count()).toBe(1)
  })

  test('each quick press steps through one change, from the moment in the address', async () => {
    const { page } = await opened()
    await openMemory(page, 'decisions.md')
    await page.getByRole('button', { name: 'More about version 1' }).waitFor()
    // All keys are pressed before the page has any of the moments.
    let answer = (): void => {}
    const mayAnswer = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route('**/ask/memory.show', async (route) => {
      await mayAnswer
      await route.continue()
    })
    await page.getByRole('slider', { name: 'Moment shown' }).focus()
    for (const key of ['ArrowLeft', 'ArrowLeft', 'ArrowRight']) await page.keyboard.press(key)
    answer()
    await page.getByText('retried five times').waitFor()
    const second = page.url()
    expect(second).toContain('at=')
    for (const key of ['ArrowLeft', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key)
    await page.locator('.frame:not(.past)').waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.getByText('retried three times').waitFor()
    await page.locator('.frame.past').waitFor()
  })

  test('a moment is found by a time, a version or a commit', async () => {
    const { page, store } = await opened()
    await page.getByRole('button', { name: 'Go to…' }).click()
    const field = page.getByLabel('Or a version')
    await field.fill('abcdef0')
    await page.getByRole('button', { name: 'Go', exact: true }).click()
    await page.getByRole('alert').getByText('no such commit').waitFor()
    const { data } = await store.history.versions({ order: 'oldest' })
    await field.fill(data[1]?.versionId ?? '')
    await page.keyboard.press('Enter')
    await page.getByText('Commit 3 of').first().waitFor()
    await page.getByRole('link', { name: 'Now', exact: true }).click()
    await page.locator('.frame:not(.past)').waitFor()
  })

  test('a search finds texts, and leaves no trace in an address', async () => {
    const { page } = await opened()
    await page.keyboard.press('/')
    await page.keyboard.type('paym')
    // While it is typed.
    await page.getByRole('link', { name: '/todo.md' }).waitFor()
    await page.getByRole('status').getByText('1 memory', { exact: true }).waitFor()
    expect(await page.locator('.found mark').allTextContents()).toEqual(['payment'])
    await expectAccessible(page)
    expect(page.url()).not.toContain('paym')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.locator('h1', { hasText: 'todo.md' }).waitFor()
    await page.goBack()
    await page.getByLabel('Search memories').fill('?!')
    await page.getByText('needs a letter or a digit').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    // Escape leaves the field: the next key is a command again.
    await page.getByLabel('Search memories').press('Escape')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel('Filter paths').fill('BILLING')
    await expect.poll(() => page.getByRole('treeitem').count()).toBe(4)
  })

  test('a palette opens memories, changes, sessions and commands by a few letters', async () => {
    const { page } = await opened()
    await page.keyboard.press('Control+k')
    const palette = page.getByRole('dialog', { name: 'Go to' })
    await palette.getByRole('option', { name: 'todo.md' }).waitFor()
    await expectAccessible(page)
    await page.keyboard.type('bildec')
    await page.keyboard.press('Enter')
    await page.locator('h1', { hasText: 'decisions.md' }).waitFor()
    expect(page.url()).not.toContain('decisions')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('fribil')
    await palette.getByRole('option', { name: 'session' }).first().waitFor()
    await page.getByRole('option', { name: /friday-billing.*session/ }).click()
    await page.getByText('Nothing has happened yet.').waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('sett')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
  })
})
