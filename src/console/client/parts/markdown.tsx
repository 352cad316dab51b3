// A memory as Markdown. Its code is loaded apart from the first page, before someone needs it.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { MarkdownBlock } from './markdown-html.ts'

type Render = (text: string) => DocumentFragment
type Blocks = (text: string) => readonly MarkdownBlock[]

/** The code of markdown-html.ts. */
interface Loaded {
  readonly renderMarkdown: Render
  readonly blocksOf: Blocks
}

let loading: Promise<Loaded> | undefined

/** Loads the code once; rejects if the console has ended. */
export function loadMarkdown(): Promise<Loaded> {
  loading ??= import('./markdown-html.ts')
  return loading
}

export function Markdown({ text }: { readonly text: string }) {
  const [render, setRender] = useState<Render>()
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    loadMarkdown().then(
      ({ renderMarkdown }) => setRender(() => renderMarkdown),
      () => setLost(true),
    )
  }, [])
  if (isLost) return <p role="alert">Markdown could not be loaded: reload the page.</p>
  if (render === undefined) return <p role="status">Reading…</p>
  return <Rendered text={text} by={render} />
}

function Rendered({ text, by }: { readonly text: string; readonly by: Render }) {
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => box.current?.replaceChildren(by(text)), [text])
  return <div class="markdown" ref={box} />
}
