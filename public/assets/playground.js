// The API in the browser: Swagger UI from this site, told to ask nobody else.
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()

globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#playground',
  validatorUrl: null,
  queryConfigEnabled: false,
  deepLinking: false,
  // The fields of the models have a page of their own.
  defaultModelsExpandDepth: -1,
  docExpansion: 'list',
  // The document names the public address of the ledger; what is tried is the copy that is being read.
  requestInterceptor(request) {
    const { pathname, search } = new URL(request.url, location.origin)
    request.url = `${location.origin}${pathname}${search}`
    return request
  },
})
