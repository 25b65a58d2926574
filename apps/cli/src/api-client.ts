import { Sluice } from '@sluice/client'
import { apiUrl } from './stack.ts'

/** How long a request is repeated after temporary failures, ms. It is short, because a person waits for the command. */
const patienceMs = 10_000

/** Opens a client of the API at `--api`, `API_URL` or in the running stack. */
export async function openClient(api: string | undefined, token: string): Promise<Sluice> {
  return new Sluice({ api: await apiUrl(api), token, patienceMs })
}
