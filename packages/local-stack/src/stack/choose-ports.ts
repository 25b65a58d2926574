import { freePort, isFree } from '../ports.ts'

/** A port that a part of the stack is going to listen on. */
export interface WantedPort {
  /** The setting that chooses it, such as `API_PORT`. */
  setting: string
  host: string
  /** 0 for any free one. */
  port: number
}

/**
 * Gives each setting its port. Free ones are picked here and not by the parts, so that a part that is started again
 * keeps its address. Throws naming the setting whose port is in use, or the two that want the same.
 */
export async function choosePorts(wanted: readonly WantedPort[]): Promise<Map<string, number>> {
  const chosen = new Map<string, number>()
  const taken = new Map<number, string>()
  // The given ports first, so that no free one that is picked is among them.
  for (const { setting, host, port } of wanted.toSorted((a, b) => b.port - a.port)) {
    const given = port === 0 ? await otherFreePort(host, taken) : port
    const rival = taken.get(given)
    if (rival !== undefined) throw new Error(`${rival} and ${setting} are both ${given}`)
    if (port !== 0 && !(await isFree(host, port))) {
      throw new Error(`${setting} ${port} is in use. Set ${setting} to another port, or to 0 for any free one`)
    }
    taken.set(given, setting)
    chosen.set(setting, given)
  }
  return chosen
}

async function otherFreePort(host: string, taken: ReadonlyMap<number, string>): Promise<number> {
  for (;;) {
    const port = await freePort(host)
    if (!taken.has(port)) return port
  }
}
