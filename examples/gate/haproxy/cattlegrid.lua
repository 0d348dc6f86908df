-- Asks the gate about a request, and answers in the site's place where it does not pass.
--
--     http-request lua.cattlegrid ADDRESS:PORT open|closed

-- Headers that belong to this connection, or that we write ourselves: a client's word must not reach the gate under these names.
local left_out = {}
for _, name in ipairs({
    "host", "connection", "content-length", "transfer-encoding", "expect", "upgrade", "te", "trailer", "keep-alive",
    "proxy-connection", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-method", "x-forwarded-uri",
    "x-cattlegrid-show", "x-cattlegrid-decision",
}) do
    left_out[name] = true
end

-- How long the gate may take, in milliseconds.
local PATIENCE = 2000

local function question(txn)
    local headers = {}
    for name, values in pairs(txn.http:req_get_headers()) do
        if not left_out[name] then
            local list = {}
            for at = 0, #values do
                list[#list + 1] = values[at]
            end
            headers[name] = list
        end
    end
    headers["x-forwarded-for"] = { txn.sf:src() }
    headers["x-forwarded-proto"] = { txn.f:ssl_fc() and "https" or "http" }
    headers["x-forwarded-host"] = { txn.sf:req_fhdr("host") }
    headers["x-forwarded-method"] = { txn.sf:method() }
    headers["x-forwarded-uri"] = { txn.sf:pathq() }
    return headers
end

local function reply_with(txn, response)
    local reply = txn:reply({ status = response.status })
    for name, values in pairs(response.headers or {}) do
        if not left_out[name] or name == "x-cattlegrid-decision" then
            for at = 0, #values do
                if values[at] then
                    reply:add_header(name, values[at])
                end
            end
        end
    end
    reply:set_body(response.body or "")
    txn:done(reply)
end

core.register_action("cattlegrid", { "http-req" }, function(txn, address, mode)
    local response = core.httpclient():get({
        url = "http://" .. address .. "/auth",
        headers = question(txn),
        timeout = PATIENCE,
    })
    local status = response and response.status or 0
    local decisions = response and response.headers and response.headers["x-cattlegrid-decision"]
    local decision = decisions and decisions[0]
    if decision == "pass" then
        txn.http:req_set_header("x-cattlegrid-decision", decision)
    elseif status >= 400 and status < 500 then
        -- A challenge, a block, or a question that the gate could not understand: none of them passes.
        reply_with(txn, response)
    elseif mode == "open" then
        core.Alert("cattlegrid: the gate at " .. address .. " does not answer, requests pass")
    else
        core.Alert("cattlegrid: the gate at " .. address .. " does not answer, requests are refused")
        local reply = txn:reply({ status = 503 })
        reply:add_header("content-type", "text/plain")
        reply:set_body("This page is closed for a moment: the server that guards it does not answer.\n")
        txn:done(reply)
    end
end, 2)
