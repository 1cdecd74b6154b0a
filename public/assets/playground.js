// The API in the browser: Swagger UI from this site, told to ask nobody else.
globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#playground',
  validatorUrl: null,
  queryConfigEnabled: false,
  deepLinking: false,
  // The document names the public address of the ledger; what is tried is the copy that is being read.
  requestInterceptor(request) {
    const { pathname, search } = new URL(request.url, location.origin)
    request.url = `${location.origin}${pathname}${search}`
    return request
  },
})
