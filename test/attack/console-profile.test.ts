// T73: who gets the browser's files, its history, or what the console has printed, after it was
// locked, finds no text, no path, no search, no session and no key in them.

import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { mainFile, newHome } from '../e2e/cli-process.ts'
import { chromiumHere, executable } from '../support/browser.ts'
import { keptByPage } from '../support/in-page.mjs'
import { temporaryDirectory } from '../support/temporary.ts'

const { missing, note } = chromiumHere

/** As nothing else is called: in texts, paths, sessions, reasons and searches. */
const canary = 'Xylophonkanarie'

describe.skipIf(missing)(`T73: files left on disk${note}`, { tags: ['slow'] }, () => {
  test('a browser keeps nothing of a memory, and the console prints nothing', async () => {
    const home = newHome()
    await home.ok('init', '--no-passphrase')
    const write = ['write', `/dir/${canary}.md`, '-', '--session', `${canary}-1`]
    await home.run([...write, '--reason', `why ${canary}`], { input: `text ${canary}\n` })
    const child = spawn(process.execPath, [mainFile, 'console', '--no-open', '--actor', 'anna'], {
      env: home.environment(),
    })
    const said: string[] = []
    const address = await new Promise<string>((resolve) => {
      child.stdout.on('data', (bytes: Buffer) => {
        said.push(bytes.toString())
        const [line] = /http:\S+/.exec(said.join('')) ?? []
        if (line !== undefined) resolve(line)
      })
    })
    child.stderr.on('data', (bytes: Buffer) => said.push(bytes.toString()))
    const exited = new Promise<number | null>((resolve) => {
      child.on('exit', resolve)
    })
    const profile = temporaryDirectory()
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: executable(),
      args: ['--no-sandbox'],
    })
    const page = await context.newPage()
    await page.goto(address)
    await page.getByRole('link', { name: 'Memories', exact: true }).click()
    await page.getByRole('treeitem', { name: `${canary}.md` }).click()
    await page.getByText(`text ${canary}`).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type(canary)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: `/dir/${canary}.md` }).click()
    await page.getByRole('tab', { name: 'Changes' }).click()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('textbox', { name: /^Text of/ }).waitFor()
    await page.keyboard.type(`more ${canary} `)
    await page.keyboard.press('Control+s')
    await page.getByRole('tab', { name: 'Changes' }).waitFor()
    const [key = ''] = /[\w-]{43}/.exec(await page.evaluate(keptByPage)) ?? []
    expect(key).toMatch(/^[\w-]{43}$/)
    await page.getByRole('button', { name: 'Lock' }).click()
    await page.getByRole('heading', { name: 'Locked' }).waitFor()
    expect(await page.evaluate(keptByPage)).toBe('{} {}')
    expect(await exited).toBe(0)
    await context.close()
    const token = new URL(address).hash.slice('#token='.length)
    const secrets = [canary, canary.toLowerCase(), key]
    const found = [...textsBelow(profile)].flatMap(([name, text]) =>
      secrets.flatMap((secret) => {
        return text.includes(secret) || text.includes(wide(secret)) ? [`${secret} in ${name}`] : []
      }),
    )
    expect(found).toEqual([])
    // The browser may keep the address that it was sent to, with a token that has expired.
    expect(token).not.toBe(key)
    expect(said.join('')).not.toContain(canary)
    expect(said.join('').trim().split('\n')).toEqual([address, 'Locked: the store is closed'])
  })
})

/** As UTF-16, which browsers keep texts in, too. */
function wide(text: string): string {
  return Buffer.from(text, 'utf16le').toString('latin1')
}

function* textsBelow(directory: string): Generator<readonly [string, string]> {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const name = join(entry.parentPath, entry.name)
    yield [name, readFileSync(name, 'latin1')]
  }
}
