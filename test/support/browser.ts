// Debian's chromium, headless, with a page of the console in it. An error in the page, a refusal by
// its policy or a request to another place fails the test when it ends.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, expect, onTestFinished } from 'vitest'
import { storeToLookAt } from './console-store.ts'
import { openedConsole } from './console.ts'
import { type Violation, violations } from './in-page.mjs'
import { patience } from './patience.ts'
import { requires } from './tools.ts'

export const chromiumHere = requires('chromium')

const axeCode = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export interface View {
  readonly width?: number
  readonly colorScheme?: 'light' | 'dark'
  /** The time of the page, which then stands still. */
  readonly now?: number
  /** The user's `--user-data-dir`; a temporary one if left out. */
  readonly profile?: string
}

export interface ConsolePage {
  readonly page: Page
  readonly context: BrowserContext
}

/** One browser for all tests of a file; call it at its top. */
export function browserOfFile(): () => Promise<Browser> {
  let browser: Promise<Browser> | undefined
  afterAll(async () => (await browser)?.close())
  return () => {
    // The sandbox needs more than a container allows; the page is ours, and what it shows escaped.
    browser ??= chromium.launch({ executablePath: executable(), args: ['--no-sandbox'] })
    return browser
  }
}

export function executable(): string {
  return '/usr/bin/chromium'
}

/** A page at an address of the console, in a context of its own; closed when the test ends. */
export async function consolePage(
  browser: Browser,
  address: string,
  { width = 1440, colorScheme = 'light', now }: View = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(patience.timeout)
  onTestFinished(() => context.close())
  if (now !== undefined) await context.clock.setFixedTime(now)
  return { ...(await pageIn(context, address)), context }
}

/** A page of the console of a store with something of each kind; `path` is that of the page. */
export async function pageToLookAt(
  browser: Browser,
  path: string,
  options: Parameters<typeof openedConsole>[1] = {},
) {
  const store = await storeToLookAt()
  const shown = await openedConsole(store, options)
  const address = shown.newAddress().replace('/#', `${path}#`)
  return { ...(await consolePage(browser, address)), store, shown }
}

/** One more tab of the same browser. */
export async function pageIn(
  context: BrowserContext,
  address: string,
): Promise<{ readonly page: Page }> {
  const page = await context.newPage()
  const problems = watched(page, new URL(address).origin)
  onTestFinished(() => expect(problems).toEqual([]))
  await page.goto(address)
  // Until the token is traded nothing is drawn, and following a link would leave the page for ever.
  await page.locator('#page > *').first().waitFor({ state: 'attached' })
  return { page }
}

/** Fills as things happen. */
function watched(page: Page, origin: string): string[] {
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
  page.on('console', (message) => {
    const isKnown = /401 \(Unauthorized\)|ERR_CONNECTION|ERR_INCOMPLETE/.test(message.text())
    if (message.type() === 'error' && !isKnown) problems.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(origin) && !/^(?:data|blob|about):/.test(url)) problems.push(`to ${url}`)
  })
  return problems
}

/** Fails with what axe reports. */
export async function expectAccessible(page: Page): Promise<void> {
  // Trusted Types refuse the tag of a script, but not what the test itself evaluates.
  await page.evaluate(axeCode)
  const found = await page.evaluate(violations)
  expect(found.map(describeViolation)).toEqual([])
}

function describeViolation({ id, nodes }: Violation): string {
  return [id, ...nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`)].join('\n')
}
