-- Asks the gate about a request, and answers in the site's place where it does not pass.
--
--     http-request lua.cattlegrid ADDRESS PORT open|closed

-- Seconds that the gate may take for each step.
local PATIENCE = 2

-- Headers that belong to this connection, or that we write ourselves: a client's word must not reach the gate under these names.
local left_out = {}
for _, name in ipairs({
    "host", "connection", "content-length", "transfer-encoding", "expect", "upgrade", "te", "trailer", "keep-alive",
    "proxy-connection", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-method", "x-forwarded-uri",
}) do
    left_out[name] = true
end

local own_cookies = { ["cattlegrid"] = true, ["cattlegrid-ask"] = true, ["cattlegrid-4"] = true, ["cattlegrid-6"] = true }

-- The question: all headers of the request, and what the gate must know of it.
local function question(txn)
    local is_tls = txn.f:ssl_fc()
    local lines = {
        "GET /auth HTTP/1.1",
        "host: gate",
        "connection: close",
        "x-forwarded-for: " .. txn.sf:src(),
        "x-forwarded-proto: " .. ((is_tls == true or is_tls == 1) and "https" or "http"),
        "x-forwarded-host: " .. txn.sf:req_fhdr("host"),
        "x-forwarded-method: " .. txn.sf:method(),
        "x-forwarded-uri: " .. txn.sf:pathq(),
    }
    for name, values in pairs(txn.http:req_get_headers()) do
        for at = 0, #values do
            if not left_out[name] then
                lines[#lines + 1] = name .. ": " .. values[at]
            end
        end
    end
    return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

-- The gate's answer as status, headers and body; nothing where it does not answer.
local function ask(txn, address, port)
    local socket = core.tcp()
    socket:settimeout(PATIENCE)
    if not socket:connect(address, port) or not socket:send(question(txn)) then
        socket:close()
        return nil
    end
    local first = socket:receive("*l")
    local status = tonumber(first and string.match(first, "^HTTP/1%.1 (%d%d%d)"))
    local headers = {}
    while status do
        local line = socket:receive("*l")
        if not line then
            status = nil
        end
        if not line or line == "" or line == "\r" then
            break
        end
        local name, value = string.match(line, "^([^:]+):%s*(.-)\r?$")
        if name then
            headers[#headers + 1] = { string.lower(name), value }
        end
    end
    local body = status and socket:receive("*a") or ""
    socket:close()
    return status, headers, body
end

-- Takes the gate's own cookies out of what the site gets.
local function strip_cookies(txn)
    local values = txn.http:req_get_headers()["cookie"]
    if not values then
        return
    end
    txn.http:req_del_header("cookie")
    for at = 0, #values do
        local kept = {}
        for pair in string.gmatch(values[at], "[^;]+") do
            local name = string.gsub(string.match(pair, "^%s*([^=]*)"), "^__Host%-", "")
            if not own_cookies[name] then
                kept[#kept + 1] = pair
            end
        end
        if #kept > 0 then
            local rest = string.gsub(table.concat(kept, ";"), "^%s+", "")
            txn.http:req_add_header("cookie", rest)
        end
    end
end

local function reply_with(txn, status, headers, body)
    local reply = txn:reply({ status = status })
    for _, header in ipairs(headers) do
        if not left_out[header[1]] then
            reply:add_header(header[1], header[2])
        end
    end
    reply:set_body(body)
    txn:done(reply)
end

core.register_action("cattlegrid", { "http-req" }, function(txn, address, port, mode)
    local status, headers, body = ask(txn, address, tonumber(port))
    if status == 200 then
        txn.http:req_set_header("x-cattlegrid-decision", "pass")
        strip_cookies(txn)
    elseif status and status < 500 then
        -- A challenge, a block, or a question that the gate could not understand: none of them passes.
        reply_with(txn, status, headers, body)
    elseif mode == "open" then
        core.Alert("cattlegrid: the gate at " .. address .. ":" .. port .. " does not answer, requests pass")
        strip_cookies(txn)
    else
        core.Alert("cattlegrid: the gate at " .. address .. ":" .. port .. " does not answer, requests are refused")
        local text = "This page is closed for a moment: the server that guards it does not answer.\n"
        reply_with(txn, 503, { { "content-type", "text/plain" }, { "cache-control", "no-store" } }, text)
    end
end, 3)
