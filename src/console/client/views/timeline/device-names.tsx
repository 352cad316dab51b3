// The names of devices, for people: rows name them by their ids. Asked for once for a whole view.

import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { useAsk } from '../../core/use-ask.ts'

interface Names {
  readonly deviceIds: readonly string[]
  /** The name of a device, or its id. */
  readonly nameOf: (deviceId: string) => string
}

const Context = createContext<Names>({ deviceIds: [], nameOf: shortId })

export function DeviceNames({ children }: { readonly children: ComponentChildren }) {
  const { data } = useAsk('devices.list', {})
  const names = new Map(data?.devices.map(({ deviceId, name }) => [deviceId, name]))
  const nameOf = (deviceId: string): string => {
    const name = names.get(deviceId) ?? ''
    return name === '' ? shortId(deviceId) : name
  }
  return (
    <Context.Provider value={{ deviceIds: [...names.keys()], nameOf }}>{children}</Context.Provider>
  )
}

export function useDeviceNames(): Names {
  return useContext(Context)
}

/** Its last digits tell ids apart; the first ones are often alike. */
function shortId(id: string): string {
  return `…${id.slice(-6)}`
}
