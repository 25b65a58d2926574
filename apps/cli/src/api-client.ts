import { Sluice } from '@sluice/client'
import { Failure } from '@sluice/client-cli/failure'
import { type Command, Option } from 'commander'
import { apiUrl } from './stack.ts'

/** How long a request is repeated after temporary failures, ms. It is short, because a person waits for the command. */
const patienceMs = 10_000

export interface ClientOptions {
  token?: string
  api?: string
}

/** Describes the token of a command that operators call without one: it then works on the database. */
export const forClients = 'API token of the app, for clients of the API'

/** Adds `--token` and `--api` to a command, and returns it. */
export function withClientOptions(command: Command, token = 'API token of the app'): Command {
  return withApi(command.addOption(new Option('--token <token>', token).env('SLUICE_TOKEN')))
}

/**
 * Adds `--token` and `--api` to a command that works on the database without a token (design.md §2), and returns it.
 * Only a typed token counts, because an operator's shell may have a SLUICE_TOKEN of any app.
 */
export function withTypedToken(command: Command): Command {
  return withApi(command.option('--token <token>', forClients))
}

function withApi(command: Command): Command {
  return command.option('--api <url>', 'address of the API; default: API_URL or the running stack')
}

/** Opens a client of the API at `--api`, `API_URL` or in the running stack. Throws {@link Failure} without a token. */
export async function openClient({ token, api }: ClientOptions, missing = '--token'): Promise<Sluice> {
  if (!token)
    throw new Failure(
      `${missing} (or SLUICE_TOKEN) is missing`,
      2,
      'sluice tokens register --app APP issues a token; one that is in use ends at once',
    )
  return new Sluice({ api: await apiUrl(api), token, patienceMs })
}
