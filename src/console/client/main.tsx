// The start of the page: trades the token of the address, then draws.

import { render } from 'preact'
import { App } from './app.tsx'
import { startSession } from './core/session.ts'
import { markHiddenTexts } from './parts/hidden.tsx'

const place = document.getElementById('page')
if (place !== null) {
  markHiddenTexts()
  void startSession()
  render(<App />, place)
}
