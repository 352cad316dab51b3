// Markdown as a part of the page, loaded apart from the first page. Memories are hostile: raw HTML
// is shown as text, the rest is sanitized again, images become links, links show their targets, and
// hidden characters are marked. Nothing is loaded from anywhere.

import DOMPurify from 'dompurify'
import { Marked } from 'marked'
import { markTextsOf } from './hidden.tsx'

/** What Markdown makes, and nothing that loads, sends or names anything. */
const TAGS =
  'a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre strong ' +
  'table tbody td th thead tr ul'
const ATTRIBUTES = ['align', 'href', 'start']
const PROTOCOLS = new Set(['http:', 'https:', 'mailto:'])

const marked = new Marked({ gfm: true })
marked.use({
  renderer: {
    html: ({ text }) => escapeHtml(text),
    image: ({ href, text }) => `<a href="${escapeHtml(href)}">image: ${escapeHtml(text)}</a>`,
    // A list of tasks: no form.
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
})

export function renderMarkdown(text: string): DocumentFragment {
  const html = marked.parse(text, { async: false })
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS.split(' '),
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  })
  for (const link of fragment.querySelectorAll('a')) describeLink(link)
  for (const cell of fragment.querySelectorAll('[align]')) {
    const side = cell.getAttribute('align')
    cell.removeAttribute('align')
    if (cell.matches('td, th') && (side === 'right' || side === 'center')) cell.className = side
  }
  // The page has a heading of its own.
  for (const heading of fragment.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    heading.setAttribute('role', 'heading')
    heading.setAttribute('aria-level', String(Math.min(6, Number(heading.tagName.slice(1)) + 1)))
  }
  markTextsOf(fragment)
  return fragment
}

/** Lines of a text that one element of its Markdown shows, counted from 0. */
export interface MarkdownBlock {
  readonly line: number
  readonly lines: number
}

/** One for each heading, paragraph, item of a list and the like, in the order of the elements. */
export function blocksOf(text: string): readonly MarkdownBlock[] {
  const blocks: MarkdownBlock[] = []
  let line = 0
  for (const token of marked.lexer(text)) {
    if (token.type === 'list') blocks.push(...itemsOf(token.items, line))
    else if (!UNSHOWN.has(token.type))
      blocks.push({ line, lines: linesIn(token.raw.trimEnd()) + 1 })
    line += linesIn(token.raw)
  }
  return blocks
}

/** Tokens that make no element. */
const UNSHOWN: ReadonlySet<string> = new Set(['space', 'def', 'html', 'text'])

function itemsOf(items: readonly { readonly raw: string }[], first: number): MarkdownBlock[] {
  let line = first
  return items.map(({ raw }) => {
    const block = { line, lines: linesIn(raw.trimEnd()) + 1 }
    line += linesIn(raw)
    return block
  })
}

function linesIn(raw: string): number {
  return raw.split('\n').length - 1
}

/** Links to places that are not absolute lead nowhere: there is no place that they are in. */
function describeLink(link: HTMLAnchorElement): void {
  const url = absoluteUrl(link.getAttribute('href') ?? '')
  if (url === undefined || !PROTOCOLS.has(url.protocol)) {
    link.removeAttribute('href')
    return
  }
  link.target = '_blank'
  link.rel = 'noopener noreferrer'
  const where = document.createElement('span')
  where.className = 'dim'
  where.textContent = ` (${url.protocol === 'mailto:' ? url.pathname : url.host})`
  link.append(where)
}

function absoluteUrl(href: string): URL | undefined {
  try {
    return new URL(href)
  } catch {
    return undefined
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replaceAll(/["&'<>]/g, (letter) => ENTITIES[letter] ?? '')
}
