// The laws of documents and of the tree: links resolve, one title per document, nothing unexpected
// at the top.

import type { Violation } from './source.ts'

/**
 * Everything that may lie at the top of the repository, in addition to files that begin with a dot.
 */
const topLevel: ReadonlySet<string> = new Set([
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'docs',
  'knip.json',
  'package-lock.json',
  'package.json',
  'scripts',
  'src',
  'test',
  'tsconfig.json',
  'vitest.config.ts',
])

export function topLevelLaw(paths: readonly string[]): Violation[] {
  const names = new Set(paths.map((path) => path.split('/')[0] ?? ''))
  return [...names]
    .filter((name) => !name.startsWith('.') && !topLevel.has(name))
    .map(
      (name) => `${name}: the top of the repository holds only what test/tidy/documents.ts lists`,
    )
}

export interface Document {
  readonly path: string
  readonly text: string
}

/** One `#` title per document, and that on its first line. */
export function titleLaw(document: Document): Violation[] {
  // A skill begins with its front matter.
  const text = document.text.replace(/^---\n.*?\n---\n\n/s, '')
  const titles = withoutCode(text)
    .split('\n')
    .flatMap((line, index) => (line.startsWith('# ') ? [index + 1] : []))
  if (titles.length === 1 && titles[0] === 1) return []
  return [`${document.path}:${titles[1] ?? 1}: one # title, on the first line`]
}

/** A relative link names a file, and its fragment a heading of that file. */
export function linkLaw(document: Document, tree: ReadonlyMap<string, string>): Violation[] {
  return linksOf(document.text).flatMap((link) => {
    const [name = '', fragment] = link.split('#')
    const url = new URL(name === '' ? document.path : name, `file:///${document.path}`)
    const path = name === '' ? document.path : decodeURIComponent(url.pathname.slice(1))
    const target = tree.get(path)
    const isDirectory = [...tree.keys()].some((file) => file.startsWith(path.replace(/\/?$/, '/')))
    if (target === undefined && !isDirectory) return [`${document.path}: ${link} leads nowhere`]
    if (fragment === undefined || target === undefined || !path.endsWith('.md')) return []
    return anchorsOf(target).includes(fragment)
      ? []
      : [`${document.path}: ${link} names no heading of ${path}`]
  })
}

function linksOf(text: string): string[] {
  const plain = withoutCode(text).replaceAll(/`[^`\n]*`/g, '')
  const inline = [...plain.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)]
  const references = [...plain.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)]
  return [...inline, ...references]
    .map((match) => match[1] ?? '')
    .filter((link) => !/^[a-z][a-z+.-]*:/i.test(link))
}

/** Fenced and indented code, blanked line by line. */
function withoutCode(text: string): string {
  let fence: string | undefined
  return text
    .split('\n')
    .map((line) => {
      const mark = /^\s*(```+|~~~+)/.exec(line)?.[1]
      if (fence !== undefined) {
        if (mark?.startsWith(fence) === true) fence = undefined
        return ''
      }
      fence = mark
      return mark === undefined && !line.startsWith('    ') ? line : ''
    })
    .join('\n')
}

/** The fragments that GitHub makes of headings. */
function anchorsOf(text: string): string[] {
  const headings = [...withoutCode(text).matchAll(/^#{1,6} +(.+?)\s*$/gm)]
  return headings.map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-'),
  )
}
