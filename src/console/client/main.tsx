// The start of the page: trades the token of the address, then draws.

import { render } from 'preact'
import { App } from './app.tsx'
import { startSession } from './core/session.ts'

const place = document.getElementById('page')
if (place !== null) {
  void startSession()
  render(<App />, place)
}
