import { appOfToken } from '@sluice/accounts'
import type { MovedApps } from './moved-apps.ts'

/** Cells of a service: the cell of this process, the APIs' addresses by number of the cell, and which apps moved. */
export interface Cells {
  own: number
  addresses: ReadonlyMap<number, string>
  movedApps: MovedApps
}

/**
 * Opens the router of requests. Returns a function that accepts the token of a request as the client sent it, and how
 * often the request was forwarded. It returns the address of the API that has the token's app; undefined if this
 * process is to answer itself: for its own apps, unknown cells and malformed tokens.
 *
 * A forwarded request is forwarded once more, if its app has left: two cells that disagree about an app must not loop.
 * Throws `AppHeld`.
 */
export function cellRouter({ own, addresses, movedApps }: Cells) {
  return async (token: string, forwarded: number): Promise<string | undefined> => {
    const appId = appOfToken(token)
    if (appId === undefined || forwarded > 1) return undefined
    const cell = await movedApps.cellOf(appId, forwarded > 0)
    return cell === own || (forwarded > 0 && !movedApps.hasLeft(appId)) ? undefined : addresses.get(cell)
  }
}
