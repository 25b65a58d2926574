import assert from 'node:assert/strict'
import { signInAddress, type TestDashboard } from './test-dashboard.ts'

/** What came back, redirects not followed. */
export interface Answer {
  status: number
  headers: Headers
  text: string
}

/** Somebody with a browser that keeps cookies and runs no scripts. */
export interface Visitor {
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  /** Sends a form with the token that the page at `from` (the same address, where it is left out) gave. */
  post(path: string, fields?: Record<string, string>, from?: string): Promise<Answer>
  /** Sends a form as it stands. */
  postWithoutToken(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<Answer>
}

/** Somebody who is not signed in. */
export function openVisitor({ url }: TestDashboard): Visitor {
  const cookies = new Map<string, string>()
  const ask = async (path: string, options: RequestInit = {}): Promise<Answer> => {
    const headers = {
      Accept: 'text/html',
      ...options.headers,
      Cookie: [...cookies].map((pair) => pair.join('=')).join('; '),
    }
    const response = await fetch(new URL(path, url), { ...options, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const postWithoutToken: Visitor['postWithoutToken'] = async (path, fields, headers = {}) =>
    await ask(path, { method: 'POST', body: new URLSearchParams(fields), headers })
  return {
    get: async (path, headers = {}) => await ask(path, { headers }),
    async post(path, fields = {}, from = path) {
      const page = await ask(from)
      const token = /name="form_token" value="([^"]+)"/.exec(page.text)?.[1]
      assert(token !== undefined, `${from} has no form: ${page.status}`)
      return await postWithoutToken(path, { form_token: token, ...fields })
    },
    postWithoutToken,
  }
}

/** A member or an operator who is signed in. */
export async function signIn(dashboard: TestDashboard, email: string): Promise<Visitor> {
  const visitor = openVisitor(dashboard)
  const answer = await visitor.post(await signInAddress(dashboard, email))
  assert.equal(answer.status, 303, answer.text)
  return visitor
}
