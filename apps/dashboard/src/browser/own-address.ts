// Going back to the answer of a form, or reloading it, would send the form again. The browser opens the form's page
// instead. The notice that settings are saved is shown once.
if ('answer' in document.documentElement.dataset && document.referrer.startsWith(`${location.origin}/`)) {
  history.replaceState(null, '', document.referrer)
} else if (location.search === '?saved') {
  history.replaceState(null, '', location.pathname)
}
