// A memory as Markdown. Its code is loaded apart from the first page, before someone needs it.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

type Render = (text: string) => DocumentFragment

let loading: Promise<Render> | undefined

/** Loads the code once; rejects if the console has ended. */
export function loadMarkdown(): Promise<Render> {
  loading ??= import('./markdown-html.ts').then(({ renderMarkdown }) => renderMarkdown)
  return loading
}

export function Markdown({ text }: { readonly text: string }) {
  const [render, setRender] = useState<Render>()
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    loadMarkdown().then(
      (loaded) => setRender(() => loaded),
      () => setLost(true),
    )
  }, [])
  if (isLost) return <p role="alert">Markdown could not be loaded: reload the page.</p>
  return render === undefined ? <p role="status">Reading…</p> : <Rendered text={text} by={render} />
}

function Rendered({ text, by }: { readonly text: string; readonly by: Render }) {
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => box.current?.replaceChildren(by(text)), [text])
  return <div class="markdown" ref={box} />
}
