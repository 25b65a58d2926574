import type { Signer } from '@sluice/sign-in'
import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Cookies that the dashboard signs, so that they cannot be forged. */
export interface SignedCookies {
  /** Returns the text of a cookie, or undefined if the cookie is missing or its signature is invalid. */
  read(request: FastifyRequest, name: string): Promise<string | undefined>
  /**
   * Sets a cookie that scripts cannot read. It expires when the browser closes, or after `maxAge` seconds. The text
   * must not contain a dot.
   */
  write(reply: FastifyReply, name: string, text: string, maxAge?: number): Promise<void>
  clear(reply: FastifyReply, name: string): void
}

/**
 * Opens signed cookies for a dashboard at this address. If the address begins with `https:`, browsers send the cookies
 * only over https and only to this host.
 */
export function openCookies(signer: Signer, dashboardUrl: string): SignedCookies {
  const secure = dashboardUrl.startsWith('https:')
  const options = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const
  const fullName = (name: string) => `${secure ? '__Host-' : ''}sluice_${name}`
  const set = (reply: FastifyReply, name: string, value: string, maxAge?: number) => {
    const age = maxAge === undefined ? {} : { maxAge }
    reply.header('Set-Cookie', stringifySetCookie({ name: fullName(name), value, ...options, ...age }))
  }
  return {
    async read({ headers }, name) {
      const [text = '', signature = ''] = (parseCookie(headers.cookie ?? '')[fullName(name)] ?? '').split('.')
      return (await signer.verify(`cookie ${name}`, text, signature)) ? text : undefined
    },
    async write(reply, name, text, maxAge) {
      set(reply, name, `${text}.${await signer.sign(`cookie ${name}`, text)}`, maxAge)
    },
    clear: (reply, name) => set(reply, name, '', 0),
  }
}
