import { readFile } from 'node:fs/promises'
import type pg from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'

/** A server of Postgres, or a pooler in front of it. */
export interface Host {
  host: string
  port: number
}

/** Where Postgres is, and how to log in. */
export interface Address {
  /** The options of a connection, with the first host. */
  config: pg.ClientConfig
  hosts: readonly Host[]
  /** Whether a connection must reach a server that accepts writes. */
  needsWritable: boolean
}

const defaultPort = 5432

/** Scheme, user with password, hosts, and the rest of the address. */
const form = /^(postgres(?:ql)?:\/\/)((?:[^/?]*@)?)([^/?]*)(.*)$/s

/**
 * Reads an address of Postgres. As in libpq, the address may name several hosts, separated by commas. Its parameter
 * `target_session_attrs` is `any`, `read-write` or `primary`. For Sluice, the last two mean the same. The default is
 * `any` for one host and `read-write` for several hosts.
 *
 * With the parameter `password_file`, each new connection reads its password from this file. Throws if the address is
 * malformed, or if a file that it names for TLS is missing (second-day.md §7, Postgres).
 */
export function parseAddress(url: string): Address {
  const [, scheme, login, places = '', rest] = form.exec(url) ?? []
  if (scheme === undefined) throw new Error('an address of Postgres begins with postgres://')
  const [first = '', ...others] = places.split(',')
  // The parser of pg accepts one host only.
  const config = parseIntoClientConfig(`${scheme}${login}${first}${rest}`)
  const parameters = new URLSearchParams(/\?(.*)$/s.exec(rest ?? '')?.[1])
  const passwordFile = parameters.get('password_file')
  const firstHost = { host: config.host || 'localhost', port: config.port ?? defaultPort }
  const target = parameters.get('target_session_attrs') ?? (others.length > 0 ? 'read-write' : 'any')
  return {
    config: { ...config, ...(passwordFile !== null && { password: () => readPassword(passwordFile) }) },
    hosts: [firstHost, ...others.map(parseHost)],
    needsWritable: target !== 'any',
  }
}

/** Reads a password from a file, without the line break at its end. */
async function readPassword(path: string): Promise<string> {
  return (await readFile(path, 'utf8')).replace(/\r?\n$/, '')
}

function parseHost(text: string): Host {
  const { hostname, port } = new URL(`tcp://${text}`)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) }
}
