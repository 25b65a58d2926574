/**
 * Fetches the current page again. Returns undefined if the server does not answer with the page.
 *
 * If the session has ended, opens the page anew: the browser then goes to the sign-in page, or to the OpenID Connect
 * provider, which confirms the session and leads back.
 */
export async function fetchPage(): Promise<Document | undefined> {
  const answer = await fetch(location.href, { headers: { Accept: 'text/html' } })
  if (answer.redirected) location.reload()
  if (!answer.ok || answer.redirected) return undefined
  return new DOMParser().parseFromString(await answer.text(), 'text/html')
}
